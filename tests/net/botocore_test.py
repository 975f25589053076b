"""Settings and keys of AWS as botocore, the owner of their files, reads them: the same generated files and variables go to
both. What is not the same is in DIFFERENT, with the reason."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli/support"))
import needs  # noqa: E402

needs.need("botocore")
import botocore.config  # noqa: E402
import botocore.exceptions  # noqa: E402
import botocore.loaders  # noqa: E402
import botocore.session  # noqa: E402

SEEDS = int(os.environ.get("BOTOCORE_SEEDS", "500"))
LOADER = botocore.loaders.create_loader()
PROFILES = ["default", "work", "my work"]

# botocore refuses what no host exists for. Ours names the host, which is not found. A profile "default" may be missing.
REFUSED_BY_BOTOCORE = ["FIPS is enabled but", "DualStack is enabled but", "Partition does not support", "profile (default)"]

# Words that botocore reads in another way, and why ours is kept.
DIFFERENT = {
    " # here": "botocore takes a comment behind a value for a part of it; the other SDKs do not",
    "\ufeff": "botocore does not read a file with a byte order mark",
}


def setting(chance, name, value):
    """A line of a file, with one of the signs that configparser knows."""
    return name + chance.choice([" = ", "=", ": ", " : ", "\t=\t"]) + value


def profile_lines(chance, profile, keys):
    choices = {
        "region": ["us-west-2", "eu-central-1", "cn-north-1", "us-gov-west-1", "us-iso-east-1"],
        "endpoint_url": ["http://lab:9000", "https://store.example/s3"],
        "ca_bundle": ["/etc/ca.pem"],
        "use_fips_endpoint": ["true", "false", "True"],
        "use_dualstack_endpoint": ["true", "false"],
        "ignore_configured_endpoint_urls": ["true", "false"],
        "services": ["lab", "missing"],
        "output": ["json"],
    }
    lines = [setting(chance, chance.choice([name, name.upper()]), chance.choice(values))
             for name, values in choices.items() if chance.random() < 0.25]
    if keys:
        lines += [setting(chance, "aws_access_key_id", f"ID{profile.replace(' ', '')}"),
                  setting(chance, "aws_secret_access_key", "a#b;c=d:e")]
        if chance.random() < 0.3:
            lines.append(setting(chance, "aws_session_token", "token=="))
        if chance.random() < 0.05:
            lines.pop(-1)
    chance.shuffle(lines)
    if chance.random() < 0.3:
        lines.append("s3 =\n    " + setting(chance, "addressing_style", chance.choice(["path", "virtual", "auto"])).replace(":", "="))
    if chance.random() < 0.2:
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(["# a comment", "; another", "", "   "]))
    if chance.random() < 0.1:
        lines = ["  " + line.replace("\n", "\n  ") for line in lines]
    if chance.random() < 0.03:
        lines.append(chance.choice(["no sign here", "[broken"]))
    return lines


def config_file(chance):
    lines = []
    for profile in PROFILES:
        if chance.random() < 0.25:
            continue
        name = profile if profile == "default" else chance.choice([f'"{profile}"', f"'{profile}'"] + ([profile] if " " not in profile else []))
        lines.append("[default]" if profile == "default" else f"[profile{chance.choice([' ', '  '])}{name}]")
        lines += profile_lines(chance, profile, chance.random() < 0.4)
    if chance.random() < 0.5:
        lines += ["[services lab]", "s3 =", "  endpoint_url = http://service:8000", "ec2 =", "  endpoint_url = http://other"]
    if chance.random() < 0.2:
        lines += ["[preview]", "cloudfront = true", "[sso-session corp]", "sso_region = us-east-1"]
    return chance.choice(["\n", "\r\n"]).join(lines) + "\n"


def credentials_file(chance):
    lines = []
    for profile in PROFILES:
        if chance.random() < 0.4:
            lines += [f"[{profile}]"] + profile_lines(chance, profile + "C", True)
    return "\n".join(lines) + "\n"


def variables(chance, home):
    found = {"AWS_EC2_METADATA_DISABLED": "true"}
    for name, values in {
            "AWS_PROFILE": ["work", "my work", "default", "absent"],
            "AWS_DEFAULT_REGION": ["ap-south-1"],
            "AWS_ENDPOINT_URL": ["http://variable:1"],
            "AWS_ENDPOINT_URL_S3": ["http://variable-s3:1"],
            "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": ["true", "false"],
            "AWS_USE_FIPS_ENDPOINT": ["true", "false"],
            "AWS_USE_DUALSTACK_ENDPOINT": ["true", "false"],
            "AWS_CONFIG_FILE": ["~/elsewhere", "$HOME/elsewhere", f"{home}/elsewhere", "/absent"],
            "AWS_SHARED_CREDENTIALS_FILE": ["~/keys", "/absent"]}.items():
        if chance.random() < 0.15:
            found[name] = chance.choice(values)
    return found


class Owner:
    """What botocore says, or "error"."""

    def __init__(self, environment):
        os.environ.clear()
        os.environ.update(environment)
        self.session = botocore.session.Session()
        self.session.register_component("data_loader", LOADER)

    @staticmethod
    def url_asked(client):
        """Where a request would go."""
        asked = []

        def stop(request, **_):
            asked.append(request.url)
            raise InterruptedError

        client.meta.events.register("before-send.s3", stop)
        try:
            client.get_object(Bucket="my-bucket", Key="key")
        except InterruptedError:
            pass
        return asked[0]

    def answer(self):
        try:
            keys = self.session.get_credentials()
            client = self.session.create_client("s3", aws_access_key_id="x", aws_secret_access_key="y")
            url = self.url_asked(client)
            keys = keys and keys.get_frozen_credentials()
            return {"region": client.meta.region_name.replace("aws-global", "us-east-1"),
                    "url": url.split("?")[0].replace(".s3.amazonaws.com/", ".s3.us-east-1.amazonaws.com/").replace("//s3.amazonaws.com/", "//s3.us-east-1.amazonaws.com/"),
                    "authorities": self.session.get_config_variable("ca_bundle") or "",
                    "key": keys.access_key if keys else "",
                    "token": (keys.token or "") if keys else ""}
        except (botocore.exceptions.BotoCoreError, ValueError) as error:
            return {"error": f"{type(error).__name__}: {error}"}


class AgainstBotocore(unittest.TestCase):
    maxDiff = None

    def ours(self, environment):
        finished = subprocess.run([os.environ["NET_PROBE"], "settings"], env=environment, capture_output=True, text=True, timeout=60)
        self.assertIn(finished.returncode, (0, 1), finished.stderr)
        return json.loads(finished.stdout)

    def compare(self, home, environment, files):
        for name, text in files.items():
            path = home / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, newline="")
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), **environment}
        before = dict(os.environ)
        try:
            owners = Owner(environment).answer()
        finally:
            os.environ.clear()
            os.environ.update(before)
        ours = self.ours(environment)
        if any(words in owners.get("error", "") for words in REFUSED_BY_BOTOCORE):
            return True, owners, ours
        if "error" in owners or "error" in ours:
            return "error" in owners and "error" in ours, owners, ours
        ours["url"] = ours["url"].split("?")[0]
        return owners == ours, owners, ours

    def test_generated_files_and_variables(self):
        refused = 0
        for seed in range(SEEDS):
            chance = random.Random(seed)
            with tempfile.TemporaryDirectory() as folder:
                home = pathlib.Path(folder)
                files = {}
                for name, text in ((".aws/config", config_file), (".aws/credentials", credentials_file),
                                   ("elsewhere", config_file), ("keys", credentials_file)):
                    if chance.random() < 0.8:
                        files[name] = text(chance)
                environment = variables(chance, home)
                with self.subTest(seed=seed):
                    same, owners, ours = self.compare(home, environment, files)
                    refused += "error" in ours
                    self.assertTrue(same, f"{environment}\n{files}\nbotocore: {owners}\nshardkit: {ours}")
        self.assertLess(refused, SEEDS * 2 // 3)

    def test_what_is_read_in_another_way(self):
        for words in DIFFERENT:
            with tempfile.TemporaryDirectory() as folder, self.subTest(words=words):
                text = "[default]\nregion = eu-west-1" + words + "\n" if words.startswith(" ") else words + "[default]\nregion = eu-west-1\n"
                same, owners, ours = self.compare(pathlib.Path(folder), {}, {".aws/config": text})
                self.assertFalse(same, owners)
                self.assertEqual(ours["region"], "eu-west-1")


if __name__ == "__main__":
    unittest.main()
