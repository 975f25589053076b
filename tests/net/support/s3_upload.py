"""Puts objects into an S3 server, signed by a signer of its own (SigV4), so that tests hold ours against another."""

import datetime
import hashlib
import hmac
import http.client
import urllib.parse
import xml.etree.ElementTree


def encode(text, safe=""):
    return urllib.parse.quote(text, safe="-._~" + safe)


class Uploader:
    """One connection; one thread."""

    def __init__(self, server, region="us-east-1"):
        self.server = server
        self.region = region
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)

    def request(self, method, bucket, key="", query=None, body=b"", headers=None):
        path = f"/{encode(bucket)}" + (f"/{encode(key, '/')}" if key else "")
        text = "&".join(f"{encode(name)}={encode(value)}" for name, value in sorted((query or {}).items()))
        signed = self._signed(method, path, text, body, headers or {})
        target = path + (f"?{text}" if text else "")
        try:
            self.connection.request(method, target, body=body, headers=signed)
            answer = self.connection.getresponse()
        except (ConnectionError, http.client.HTTPException):  # the server closes connections that were idle
            self.connection.close()
            self.connection.request(method, target, body=body, headers=signed)
            answer = self.connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {content!r}")
        return answer, content

    def put(self, bucket, key, body, headers=None):
        self.request("PUT", bucket, key, body=body, headers=headers)

    def put_parts(self, bucket, key, parts):
        """A multipart object; all parts but the last of at least 5 MiB."""
        content = self.request("POST", bucket, key, {"uploads": ""})[1]
        upload = next(e.text for e in xml.etree.ElementTree.fromstring(content) if e.tag.endswith("UploadId"))
        done = ""
        for number, part in enumerate(parts, 1):
            answer = self.request("PUT", bucket, key, {"partNumber": str(number), "uploadId": upload}, part)[0]
            done += f"<Part><PartNumber>{number}</PartNumber><ETag>{answer.headers['ETag']}</ETag></Part>"
        document = f"<CompleteMultipartUpload>{done}</CompleteMultipartUpload>".encode()
        self.request("POST", bucket, key, {"uploadId": upload}, document)

    def _signed(self, method, path, query, body, headers):
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        digest = hashlib.sha256(body).hexdigest()
        all_headers = {"host": f"127.0.0.1:{self.server.port}", "x-amz-date": stamp, "x-amz-content-sha256": digest,
                       **headers}
        names = sorted(all_headers)
        canonical = "\n".join([method, path, query, *(f"{n}:{all_headers[n]}" for n in names), "", ";".join(names), digest])
        scope = f"{day}/{self.region}/s3/aws4_request"
        to_sign = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = ("AWS4" + self.server.secret_key).encode()
        for word in (day, self.region, "s3", "aws4_request", to_sign):
            key = hmac.new(key, word.encode(), hashlib.sha256).digest()
        all_headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={self.server.access_key}/{scope}, "
                                        f"SignedHeaders={';'.join(names)}, Signature={key.hex()}")
        return all_headers
