#pragma once

namespace shardkit {

/// How many requests to keep under way, found by climbing: more as long as that moves more bytes, back a step when it
/// does not, half when the other side asks for fewer. One thread at a time; knows no clock.
class Climb {
 public:
  /// `start` and `maximum` are at least 1.
  Climb(unsigned start, unsigned maximum);

  /// Requests to have under way now.
  unsigned level() const { return level_; }

  /// Takes the rate, in any unit, of an interval at this level, and thinks again. `throttled`: somebody was asked for
  /// fewer requests meanwhile.
  void measured(double rate, bool throttled);

 private:
  void probe();
  void step_back(unsigned level, int rest);

  unsigned level_;
  const unsigned maximum_;
  unsigned before_;  ///< the level from which the present one is tried
  bool probing_ = false;
  int mixed_ = 1;    ///< intervals to leave out, as they belong to two levels
  int rest_ = 0;     ///< intervals until the next attempt to climb
  double rate_ = 0;  ///< of the level before
};

}  // namespace shardkit
