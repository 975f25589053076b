#include "report/style.hpp"

namespace shardkit::report {

const std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--fg:#1b1f24;--soft:#57606a;--line:#d0d7de;--track:#eef1f4;--band:#dfe7f0;
--c1:#0969da;--c2:#b35900;--c3:#7c3aed;--c4:#0b7285;--c5:#a0235a;--good:#1a7f37;--bad:#c62828;--unclear:#8a6100;
--link:#0550ae;--in:#fff}
@media (prefers-color-scheme:dark){:root{--bg:#0e1217;--fg:#e6edf3;--soft:#a2acb8;--line:#333b45;--track:#1c232c;
--band:#22303f;--c1:#58a6ff;--c2:#f0954a;--c3:#bc9bff;--c4:#4cc3d9;--c5:#f283b6;--good:#4cc764;--bad:#ff7b72;
--unclear:#e3b341;--link:#79b8ff;--in:#0e1217}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:60rem;background:var(--bg);color:var(--fg);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;overflow-wrap:break-word}
a{color:var(--link)}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--c1);outline-offset:2px}
header{border-left:.4rem solid var(--soft);padding:.1rem 0 .1rem 1rem}
header.good{border-color:var(--good)}header.bad{border-color:var(--bad)}header.unclear{border-color:var(--unclear)}
header{margin-bottom:1rem}
header p{margin:.3rem 0}
.kind{color:var(--soft)}
h1{font-size:1.35rem;line-height:1.3;margin:.2rem 0}
h2{font-size:1.1rem;margin:0 0 .4rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(11rem,1fr));gap:.4rem 1.2rem;margin:.8rem 0 0}
dt{color:var(--soft);font-size:.85rem}dd{margin:0}
nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:1rem 0;list-style:none}
nav a{display:inline-block;padding:.2rem 0}
section{border-top:1px solid var(--line);padding:1rem 0}
section p{margin:.4rem 0;max-width:46rem}
figure{margin:.8rem 0;max-width:33rem}
figcaption{color:var(--soft);font-size:.9rem}
svg{display:block;width:100%;height:auto}
summary{cursor:pointer;color:var(--link);padding:.2rem 0;width:max-content;max-width:100%}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;margin:.4rem 0}
th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:600}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
pre{overflow-x:auto;background:var(--track);padding:.7rem;font-size:.85rem;line-height:1.4}
footer{border-top:1px solid var(--line);color:var(--soft);font-size:.85rem;padding:.8rem 0}
text{font-size:13px;fill:var(--fg);font-family:inherit}
.s{font-size:12px;fill:var(--soft)}.e{text-anchor:end}.m{text-anchor:middle}
.in{font-size:10.5px;fill:var(--in);text-anchor:middle}
.c1{fill:var(--c1)}.c2{fill:var(--c2)}.c3{fill:var(--c3)}.c4{fill:var(--c4)}.c5{fill:var(--c5)}
rect.good,circle.good{fill:var(--good)}rect.bad,circle.bad{fill:var(--bad)}
rect.unclear,circle.unclear{fill:var(--unclear)}
.track{fill:var(--track)}.band{fill:var(--band)}.dot{stroke:var(--bg);stroke-width:1.5}
.grid{stroke:var(--line);stroke-width:1}.whisker{stroke:var(--fg);stroke-width:1.5}
.required{stroke:var(--fg);stroke-width:2;stroke-dasharray:4 2}
.curve{fill:none;stroke-width:1.8;stroke-linejoin:round}
.l-c1{stroke:var(--c1)}.l-c2{stroke:var(--c2)}.l-c3{stroke:var(--c3)}.l-c4{stroke:var(--c4)}.l-c5{stroke:var(--c5)}
.l-good{stroke:var(--good)}.l-bad{stroke:var(--bad)}.l-unclear{stroke:var(--unclear)}
.h0{fill:var(--good);opacity:.55}.h1{fill:var(--good);opacity:.85}.h2{fill:var(--unclear);opacity:.8}
.h3{fill:var(--c2)}.h4{fill:var(--bad)}.mark{stroke:var(--fg);stroke-width:2;opacity:1}
@media (max-width:30rem){body{padding:.7rem}h1{font-size:1.15rem}table{font-size:.82rem}}
@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--soft:#444;--line:#bbb;--track:#eee;--band:#dde;
--c1:#0969da;--c2:#b35900;--c3:#7c3aed;--c4:#0b7285;--c5:#a0235a;--good:#1a7f37;--bad:#c62828;--unclear:#8a6100;
--in:#fff}
body{max-width:none;font-size:10pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}
nav{display:none}section,figure{break-inside:avoid}.wide,pre{overflow:visible}pre{white-space:pre-wrap}
details::details-content{content-visibility:visible;display:block;height:auto}}
)css";

}  // namespace shardkit::report
