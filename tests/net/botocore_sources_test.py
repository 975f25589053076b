"""Where keys come from, as botocore sees it: programs, containers, instances and roles. Both get the same generated files,
variables and services of this machine. What a request is signed with has to be the same, or both refuse.

The cases follow from fixed seeds. With SHARDKIT_SOAK there are ten times as many. What is not the same is in DIFFERENT, with
the reason. KNOWN differs too, and is not generated."""

import concurrent.futures
import hashlib
import http.server
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli/support"))
import needs  # noqa: E402

needs.need("botocore")
import botocore.credentials  # noqa: E402
import botocore.exceptions  # noqa: E402
import botocore.loaders  # noqa: E402
import botocore.parsers  # noqa: E402
import botocore.session  # noqa: E402
import botocore.utils  # noqa: E402
from program import PROGRAMS, SOAK  # noqa: E402

SEEDS = 1200 if SOAK else 120
LOADER = botocore.loaders.create_loader()
botocore.utils.ContainerMetadataFetcher.SLEEP_TIME = 0
ROLES = "/latest/meta-data/iam/security-credentials/"

# How the ids of keys begin, by the source that botocore names.
IDS = {"env": "ENV", "custom-process": "PROCESS", "config-file": "FILE", "shared-credentials-file": "FILE",
       "container-role": "CONTAINER", "iam-role": "INSTANCE", "assume-role": "ROLE", "assume-role-with-web-identity": "WEB"}


def keys(name, token="Token", **other):
    """The JSON document of metadata services and programs."""
    return json.dumps({"Version": 1, "Code": "Success", "AccessKeyId": name, "SecretAccessKey": "secret", token: f"token-of-{name}",
                       "Expiration": "2099-01-01T00:00:00Z", **other})


class Service(http.server.BaseHTTPRequestHandler):
    """A bucket that refuses each request, and the services that give keys. `server.answers` has what they do, by name."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else body.encode())

    def give(self, name, good):
        """Answers as the case has it: in full, with a status, with other text, never, or at the second request only."""
        said = self.server.answers.get(name, "good")
        if said == "busy":
            said = "good" if name in self.server.asked else 500
            self.server.asked.add(name)
        if said == "lost":
            self.rfile.read(1)
            self.close_connection = True
        elif isinstance(said, int):
            self.answer(said, "<ErrorResponse><Error><Code>Failed</Code></Error></ErrorResponse>")
        else:
            self.answer(200, good if said == "good" else said)

    def do_PUT(self):
        self.give("token", "session")

    def do_GET(self):
        if self.path.endswith("/container"):
            wanted = self.server.answers.get("authorization")
            if wanted not in (None, self.headers["Authorization"]):
                self.answer(403)
            else:
                self.give("container", keys("CONTAINER"))
        elif self.path.startswith(ROLES):
            wanted = "session" if self.server.answers.get("token", "good") == "good" else None
            is_role = self.path != ROLES
            if wanted not in (None, self.headers["x-aws-ec2-metadata-token"]):
                self.answer(401)
            else:
                self.give("document" if is_role else "role", keys("INSTANCE") if is_role else "my-role")
        elif self.path.startswith("/federation/credentials"):
            self.answer(200, json.dumps({"roleCredentials": {"accessKeyId": "SSO", "secretAccessKey": "s", "sessionToken": "t",
                                                             "expiration": 4070908800000}}))
        else:
            self.server.signed.append((self.signer(), self.headers["x-amz-security-token"] or ""))
            self.answer(403, "<Error><Code>AccessDenied</Code></Error>")

    do_HEAD = do_GET

    def signer(self):
        found = re.search("Credential=([^/]*)/", self.headers["Authorization"] or "")
        return found[1] if found else ""

    def do_POST(self):
        """STS: the id of the new key tells who assumed which role, and how."""
        asked = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        action = asked["Action"]
        session = asked["RoleSessionName"] if asked["RoleSessionName"].startswith("my-") else ""
        name = ".".join(["ROLE" if action == "AssumeRole" else "WEB", self.signer() or asked["WebIdentityToken"].strip(),
                         asked["RoleArn"].rsplit("/", 1)[1], asked.get("ExternalId", ""), session])
        self.give("sts", f"<{action}Response><{action}Result><Credentials><AccessKeyId>{name}</AccessKeyId><SecretAccessKey>s"
                         f"</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>"
                         f"</Credentials></{action}Result></{action}Response>")


class Case:
    """Files, variables and answers. In texts, HOME and SERVER stand for the folder and the address of the services."""

    def __init__(self, files=None, variables=None, answers=None):
        self.files = {"token": "identity", **(files or {})}
        self.variables = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": "SERVER", **(variables or {})}
        self.answers = answers or {}

    def __str__(self):
        return json.dumps(vars(self), indent=1)

    def start(self, home):
        """The server, and the environment of both sides."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
        server.daemon_threads = True
        server.block_on_close = False
        server.answers, server.signed, server.asked = self.answers, [], set()
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        port = server.server_address[1]

        def placed(text):
            return text.replace("HOME", str(home)).replace("SERVER", f"http://127.0.0.1:{port}").replace("PORT", str(port))

        for name, text in self.files.items():
            (home / name).parent.mkdir(parents=True, exist_ok=True)
            (home / name).write_text(placed(text))
        return server, {"PATH": "/usr/bin:/bin", "HOME": str(home), "AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL_STS": placed("SERVER"),
                        **{name: placed(text) for name, text in self.variables.items()}}


def owners_answer(environment):
    """The id, the token and the source that botocore finds, or its refusal."""
    before = dict(os.environ)
    os.environ.clear()
    botocore.credentials.SSOProvider._SSO_TOKEN_CACHE_DIR = environment["HOME"] + "/.aws/sso/cache"
    os.environ.update(environment, AWS_DEFAULT_REGION="us-east-1")
    try:
        session = botocore.session.Session()
        session.register_component("data_loader", LOADER)
        found = session.get_credentials()
        frozen = found and found.get_frozen_credentials()
        return (frozen.access_key, frozen.token or "", found.method) if found else ("", "", "no credentials")
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError, botocore.parsers.ResponseParserError,
            LookupError, TypeError, ValueError, OSError, RuntimeError) as error:
        return "", "", f"{type(error).__name__}: {error}"
    finally:
        os.environ.clear()
        os.environ.update(before)


def our_answer(server, environment):
    """The id and the token that a request of shardctl is signed with, or its refusal; and the exit code."""
    environment = {**environment, "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{server.server_address[1]}/"}
    server.asked.clear()
    finished = subprocess.run([PROGRAMS / "shardctl", "ls", "s3://bucket/"], env=environment, capture_output=True, text=True, timeout=120)
    return *(server.signed[0] if server.signed else ("", "")), finished.stderr, finished.returncode


def both(case):
    with tempfile.TemporaryDirectory() as folder:
        server, environment = case.start(pathlib.Path(folder))
        try:
            return owners_answer(environment), our_answer(server, environment)
        finally:
            server.shutdown()
            server.server_close()


COMMANDS = ["cat HOME/printed", 'sh -c "cat HOME/printed"', "cat 'HOME/printed'", "false", "/absent"]


def program(chance):
    """A credential_process: it gives keys, none or no JSON, or fails."""
    printed = chance.choice([keys("PROCESS", "SessionToken"), keys("PROCESS", "SessionToken"), "{}", "no JSON"])
    return f"credential_process = {chance.choice(COMMANDS)}", {"printed": printed}


def profile(chance, name):
    """Its lines, and the files that they name."""
    kind = chance.choice(["keys", "keys", "program", "role", "role", "role", "web", "none"])
    if kind == "keys":
        return [f"aws_access_key_id = FILE-{name}", "aws_secret_access_key = s"] + chance.choice([[], ["aws_session_token = t"]]), {}
    if kind == "program":
        line, files = program(chance)
        return [line], files
    if kind == "none":
        return ["output = json"], {}
    lines = [f"role_arn = arn:aws:iam::123456789012:role/{name}-role"]
    lines += [line for line in ("external_id = outside", "role_session_name = my-session") if chance.random() < 0.3]
    lines.append(f"web_identity_token_file = HOME/{chance.choice(['token', 'token', 'absent'])}" if kind == "web" else
                 f"source_profile = {chance.choice(['default', 'work', 'base', 'base', 'absent', name])}")
    return lines, {}


def profiles(chance):
    files = {".aws/config": "", ".aws/credentials": ""}
    for name in ("default", "work", "base"):
        if chance.random() < 0.45 and name != "base":
            continue
        lines, other = profile(chance, name)
        files |= other
        kept = "\n".join(lines) + "\n"
        where = ".aws/credentials" if lines[0].startswith("aws_access") and chance.random() < 0.5 else ".aws/config"
        files[where] += (f"[{name}]\n" if name == "default" or where.endswith("credentials") else f"[profile {name}]\n") + kept
    return files


def container(chance):
    """Variables and answers."""
    variables = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": chance.choice(
        ["SERVER/container"] * 6 + ["http://localhost:PORT/container", "http://example.com/container", "http://169.254.169.254/container"])}
    answers = {"container": chance.choice(["good"] * 5 + ["busy", 403, 404, "no JSON", "", "[]", "{}", '{"AccessKeyId": "CONTAINER"}'])}
    if chance.random() < 0.5:
        answers["authorization"] = "identity"
        variables |= chance.choice([{}, {"AWS_CONTAINER_AUTHORIZATION_TOKEN": "identity"}, {"AWS_CONTAINER_AUTHORIZATION_TOKEN": "other"},
                                    {"AWS_CONTAINER_AUTHORIZATION_TOKEN": "ident\nity"},
                                    {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "HOME/token", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "other"},
                                    {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "HOME/absent"}])
    return variables, answers


def instance(chance):
    variables = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": chance.choice(["SERVER", "SERVER/"])}
    if chance.random() < 0.2:
        variables["AWS_EC2_METADATA_DISABLED"] = chance.choice(["true", "TRUE", "false", "1"])
    if chance.random() < 0.2:
        variables["AWS_EC2_METADATA_V1_DISABLED"] = chance.choice(["true", "false"])
    return variables, {"token": chance.choice(["good", "good", "lost", 400, 403, 404, 405, 500]),
                       "role": chance.choice(["good"] * 6 + [404, ""]),
                       "document": chance.choice(["good"] * 6 + [404, "no JSON", "{}", '{"Code": "Failed", "Message": "no"}'])}


def generated(chance):
    case = Case(profiles(chance) if chance.random() < 0.5 else {}, {}, {"sts": chance.choice(["good"] * 6 + ["busy", 403, "no XML"])})
    for source in (instance, container):
        if source is instance or chance.random() < 0.4:
            variables, answers = source(chance)
            case.variables |= variables
            case.answers |= answers
    if chance.random() < 0.3:
        case.variables["AWS_PROFILE"] = chance.choice(["work", "work", "default", "absent"])
    if chance.random() < 0.07:
        case.variables |= {"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"}
    if chance.random() < 0.07:
        case.variables |= {"AWS_WEB_IDENTITY_TOKEN_FILE": "HOME/token", "AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/pod-role"}
    return case


def has_missing_profile(case):
    name = case.variables.get("AWS_PROFILE")
    return name is not None and not re.search(rf"^\[(profile )?{name}\]", "\n".join(case.files.values()), re.M)


KNOWN = [
    lambda case: "AWS_ROLE_ARN" in case.variables and "role_arn" in case.files.get(".aws/config", ""),
    lambda case: has_missing_profile(case) and {"AWS_ACCESS_KEY_ID", "AWS_ROLE_ARN"} & case.variables.keys(),
    lambda case: has_missing_profile(case) and case.variables["AWS_PROFILE"] == "default",
]


def case_of(seed):
    """The first case of a seed that is not in KNOWN."""
    chance = random.Random(seed)
    return next(case for case in iter(lambda: generated(chance), None) if not any(known(case) for known in KNOWN))


def outcome(seed):
    return both(case_of(seed))


LONG_AGO = "2020-01-01T00:00:00Z"
PAIR = {"AccessKeyId": "", "SecretAccessKey": "s"}
ROLE = "role_arn = arn:aws:iam::123456789012:role/my-role\n"
CONTAINER = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "SERVER/container"}
SSO = {"accessToken": "t", "expiresAt": "2099-01-01T00:00:00Z", "startUrl": "https://corp.example/start", "region": "us-east-1"}
SSO_FILE = f".aws/sso/cache/{hashlib.sha1(SSO['startUrl'].encode()).hexdigest()}.json"


def default(lines, **other):
    return {".aws/config": f"[default]\n{lines}\n", **other}


def printing(text, command="cat HOME/printed"):
    return Case(default(f"credential_process = {command}", printed=text))


# Each with the id of our keys, or what our refusal says and its exit code; botocore finds other keys, or none.
DIFFERENT = {
    "SSO needs a browser, which no cluster has":
        (Case(default("sso_start_url = https://corp.example/start\nsso_region = us-east-1\nsso_account_id = 123456789012\n"
                      "sso_role_name = my-role", **{SSO_FILE: json.dumps(SSO)}), {"AWS_ENDPOINT_URL_SSO": "SERVER"}), "uses SSO", 4),
    "credential_source of an instance is not supported":
        (Case(default(ROLE + "credential_source = Ec2InstanceMetadata")), "credential_source is not supported", 4),
    "credential_source of a container is not supported":
        (Case(default(ROLE + "credential_source = EcsContainer"), CONTAINER), "credential_source is not supported", 4),
    "a credential_process runs in a shell, as in other SDKs":
        (printing(keys("PROCESS", "SessionToken"), "true; cat HOME/printed"), "PROCESS"),
    "a key with a line end is refused before it is used":
        (printing(keys("PROCESS\n", "SessionToken")), "contains a blank or a line end", 2),
    "a program may leave out the version":
        (printing(json.dumps(PAIR | {"AccessKeyId": "PROCESS"})), "PROCESS"),
    "a program's keys are used even if they have expired":
        (printing(keys("PROCESS", "SessionToken", Expiration=LONG_AGO)), "PROCESS"),
    "a container's keys are used even if they have expired":
        (Case(variables=CONTAINER, answers={"container": keys("CONTAINER", Expiration=LONG_AGO)}), "CONTAINER"),
    "a container's keys need no token and no end":
        (Case(variables=CONTAINER, answers={"container": json.dumps(PAIR | {"AccessKeyId": "CONTAINER"})}), "CONTAINER"),
    "an instance's keys need no token and no end":
        (Case(answers={"document": json.dumps(PAIR | {"AccessKeyId": "INSTANCE"})}), "INSTANCE"),
    "an instance that is busy for a moment is asked again":
        (Case(answers={"document": "busy"}), "INSTANCE"),
    "a line end after an authorization token is no part of it":
        (Case({"line": "identity\n"}, CONTAINER | {"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": "HOME/line"}, {"authorization": "identity"}),
         "CONTAINER"),
    "half a key in the environment is a mistake":
        (Case(variables={"AWS_SECRET_ACCESS_KEY": "s"}), "AWS_SECRET_ACCESS_KEY is set but AWS_ACCESS_KEY_ID is not", 2),
}


class Sources(unittest.TestCase):
    maxDiff = None

    def test_generated_sources(self):
        found = set()
        with concurrent.futures.ProcessPoolExecutor(4) as pool:
            for seed, (owners, ours) in enumerate(pool.map(outcome, range(SEEDS))):
                found.add(owners[2] if owners[0] else "refused")
                with self.subTest(seed=seed):
                    self.assertEqual(owners[:2], ours[:2], f"{case_of(seed)}\nbotocore: {owners}\nshardkit: {ours}")
                    self.assertTrue(owners[0].startswith(IDS.get(owners[2], "")), owners)
        self.assertEqual(found, {"refused", *IDS})

    def test_what_is_found_in_another_way(self):
        for reason, (case, expected, *exit_code) in DIFFERENT.items():
            with self.subTest(reason):
                owners, (name, token, messages, code) = both(case)
                self.assertNotEqual(owners[:2], (name, token))
                if expected in IDS.values():
                    self.assertEqual(name, expected, messages)
                else:
                    self.assertEqual(name, "", "no request is signed")
                    self.assertIn(expected, messages)
                    self.assertEqual([code], exit_code)


if __name__ == "__main__":
    unittest.main()
