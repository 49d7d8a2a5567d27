import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { assertAllowedDomains, checkUrl, isWithinDomains } from "../../src/core/network-policy.ts";
import { domains, PRIVATE_TOO, PUBLIC, why } from "./network-policy-fixture.ts";

describe("without domains, a URL", () => {
  it.each([
    "http://example.com",
    "https://example.com:8443/path?query#fragment",
    "https://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    "HTTPS://EXAMPLE.COM",
    "https://bücher.example",
  ])("may be %s", (url) => {
    expect(checkUrl(PUBLIC, url)).toEqual({ ok: true });
    expect(checkUrl(PUBLIC, new URL(url))).toEqual({ ok: true });
  });

  it.each([
    "ftp://example.com",
    "file:///etc/passwd",
    "data:text/plain,hello",
    "ws://example.com",
    "javascript:1",
  ])("of another scheme, %s, is refused", (url) => {
    expect(why(PUBLIC, url)).toContain("only http: and https: are allowed");
  });

  it.each([
    "",
    "example.com",
    "/path",
    "http://",
    "http://[fe80::1%25eth0]/",
    "http://a b/",
    "//example.com",
  ])("that is invalid, %j, is refused", (url) => {
    expect(why(PUBLIC, url)).toBe("The URL cannot be read: give an absolute http or https URL.");
  });

  it.each([
    "https://user:hunter22@example.com/",
    "https://hunter22@example.com/",
    "https://:hunter22@example.com/",
  ])("with credentials, %s, is refused without repeating them", (url) => {
    expect(why(PRIVATE_TOO, url)).toBe(
      "The URL of example.com carries a user name or password: send them in a header instead.",
    );
  });

  it("is refused without repeating its path or its query", () => {
    for (const url of [
      "http://localhost/hunter22?hunter22#hunter22",
      "gopher://x/hunter22",
      "http://%/hunter22",
    ]) {
      expect(why(PUBLIC, url)).not.toContain("hunter22");
    }
  });

  it.each([
    "http://127.0.0.1/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://0x7f000001/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.0.0.1./",
    "http://①②⑦.0.0.1/",
    "http://127%2e0.0.1/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[2002:7f00:1::]/",
    "http://0/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://app.localhost/",
    "http://printer.local/",
    "http://db.internal/",
    "http://router.home.arpa/",
  ])("of a private host, %s, is refused", (url) => {
    expect(why(PUBLIC, url)).toMatch(/^The host \S+ is private or reserved: add \S+ to allowedDomains/);
    expect(checkUrl(PRIVATE_TOO, url)).toEqual({ ok: true });
  });

  it.each(["http://notlocalhost/", "http://local.example/", "http://internal.example.com/"])(
    "of a public name that looks like a private one, %s, is allowed",
    (url) => {
      expect(checkUrl(PUBLIC, url)).toEqual({ ok: true });
    },
  );
});

describe("a domain in the list", () => {
  it.each([
    ["example.com", "https://example.com/"],
    ["example.com", "https://example.com./"],
    ["example.com", "http://EXAMPLE.com/"],
    ["example.com", "https://exa%6dple.com/"],
    ["Example.COM.", "https://example.com/"],
    ["*.example.com", "https://api.example.com/"],
    ["*.example.com", "https://a.b.example.com/"],
    ["*.Example.com.", "https://api.example.com./"],
    ["bücher.example", "https://xn--bcher-kva.example/"],
    ["xn--bcher-kva.example", "https://BÜCHER.example/"],
    ["*.bücher.example", "https://www.bücher.example/"],
    ["example.com:8443", "https://example.com:8443/"],
    ["example.com:443", "https://example.com/"],
    ["example.com:80", "http://example.com/"],
    ["example.com:080", "http://example.com/"],
    ["*.example.com:8443", "https://api.example.com:8443/"],
    ["example.com:*", "https://example.com:9000/"],
    ["*.example.com:*", "https://api.example.com:9000/"],
    ["[::1]:*", "http://[::1]:3000/"],
    ["example.com!private", "https://example.com/"],
    ["*.corp.example:8080!private", "http://db.corp.example:8080/"],
    ["127.0.0.1:3000", "http://127.0.0.1:3000/"],
    ["127.0.0.1", "http://0x7f.1/"],
    ["::1", "http://[::1]/"],
    ["[::1]", "http://[0:0::1]/"],
    ["[::1]:3000", "http://[::1]:3000/"],
    ["localhost", "http://localhost/"],
    ["intranet.corp.internal", "http://intranet.corp.internal/"],
  ])("%s allows %s", (entry, url) => {
    expect(checkUrl(domains("other.org", entry), url)).toEqual({ ok: true });
  });

  it.each([
    ["example.com", "https://www.example.com/"],
    ["example.com", "https://example.com.evil.org/"],
    ["example.com", "https://evilexample.com/"],
    ["example.com", "https://example.co/"],
    ["example.com", "https://example.comm/"],
    ["example.com", "https://evil.org/example.com"],
    ["example.com", "https://evil.org?example.com"],
    ["example.com", "https://evil.org#@example.com"],
    ["example.com", "https:\\\\evil.org\\@example.com"],
    ["example.com", "https://example.com.."],
    ["*.example.com", "https://example.com/"],
    ["*.example.com", "https://evilexample.com/"],
    ["*.example.com", "https://api.example.com.evil.org/"],
    ["*.example.com", "https://.example.com.evil.org/"],
    ["127.0.0.1", "http://127.0.0.2/"],
    ["127.0.0.1", "http://[::ffff:127.0.0.1]/"],
    ["127.0.0.1", "http://localhost/"],
    ["::1", "http://[::2]/"],
    ["localhost", "http://app.localhost/"],
    ["exa.ple.com", "https://exaXple.com/"],
  ])("%s does not allow %s", (entry, url) => {
    expect(why(domains(entry), url)).toMatch(
      / is not in allowedDomains: add it there if it may be reached\.$/,
    );
  });

  it("does not allow another host by its user name", () => {
    expect(why(domains("example.com"), "https://example.com@evil.org/")).toContain("user name or password");
    expect(why(domains("example.com"), "https://evil.org@example.com/")).toContain("user name or password");
  });

  it("also limits policies that allow private addresses", () => {
    const policy = { allowedDomains: ["example.com"], allowPrivateAddresses: true };
    expect(why(policy, "http://10.0.0.1/")).toContain("The host 10.0.0.1 is not in allowedDomains");
  });

  it.each([
    ["example.com:8443", "https://example.com/", "example.com:443"],
    ["example.com:443", "http://example.com/", "example.com:80"],
    ["example.com:80", "https://example.com/", "example.com:443"],
    ["*.example.com:8443", "https://api.example.com/", "api.example.com:443"],
    ["example.com", "https://example.com:8443/", "example.com:8443"],
    ["*.example.com", "http://api.example.com:9000/", "api.example.com:9000"],
    ["127.0.0.1", "http://127.0.0.1:3000/", "127.0.0.1:3000"],
    ["localhost", "http://localhost:3000/", "localhost:3000"],
  ])("%s does not allow another port, %s, and the message says what to write", (entry, url, written) => {
    expect(why(domains(entry), url)).toBe(
      `The host ${written} is not in allowedDomains, which has other ports of this host: add ${written} there if it may be reached.`,
    );
    expect(checkUrl(domains(entry, written), url)).toEqual({ ok: true });
  });

  it("allows a private host only by its own name, not by a wildcard", () => {
    expect(checkUrl(domains("db.internal"), "http://db.internal/")).toEqual({ ok: true });
    expect(why(domains("*.internal"), "http://db.internal/")).toContain("add db.internal to allowedDomains");
    expect(checkUrl(domains("*.internal!private"), "http://db.internal/")).toEqual({ ok: true });
    expect(why(domains("*.localhost"), "http://app.localhost/")).toContain("is private or reserved");
  });

  it.each([
    "https://example.com",
    "example.com/path",
    "example.com?",
    "user@example.com",
    "*",
    "*.",
    "a.*.com",
    "",
    " ",
    "!private",
    "example.com!public",
    "example.com! private",
    "example.com!private!private",
    "example.com:80:*",
  ])("that is invalid, %j, allows nothing, and does not open the list", (entry) => {
    for (const url of ["https://example.com/", "https://a.b.com/", "https://path/", "http://localhost/"]) {
      expect(why(domains(entry), url)).toContain("is not in allowedDomains");
    }
    expect(() => assertAllowedDomains([entry], "constraints.allowedDomains")).toThrow(ConfigurationError);
  });
});

describe("assertAllowedDomains", () => {
  it("accepts hosts, wildcards, addresses and ports", () => {
    const entries = [
      "example.com",
      "*.example.com:8443",
      "127.0.0.1",
      "::1",
      "[::1]:80",
      "bücher.example",
      "localhost",
      "example.com:*",
      "*.corp.example:8443!private",
      "::1!private",
    ];
    expect(() => assertAllowedDomains(entries, "allowedDomains")).not.toThrow();
    expect(() => assertAllowedDomains([], "allowedDomains")).not.toThrow();
  });

  it.each([["example.com"], [null], [undefined], [{}]])("refuses %j, which is not a list", (entries) => {
    expect(() => assertAllowedDomains(entries, "allowedDomains")).toThrow("allowedDomains is not a list");
  });

  it.each([
    [null],
    [7],
    ["*.127.0.0.1"],
    ["exa mple.com"],
    ["example.com:port"],
    ["example.com:65536"],
    ["[::1"],
    ["*.*.com"],
  ])("refuses the entry %j", (entry) => {
    expect(() => assertAllowedDomains(["example.com", entry], "allowedDomains")).toThrow(
      `allowedDomains contains ${JSON.stringify(entry)}, which is no host: write "example.com", `,
    );
  });
});

describe("an entry is within others:", () => {
  it.each([
    ["example.com", "example.com"],
    ["example.com:443", "example.com"],
    ["example.com:8443", "example.com:*"],
    ["api.example.com", "*.example.com"],
    ["*.api.example.com", "*.example.com"],
    ["*.example.com", "*.example.com"],
    ["example.com", "example.com!private"],
    ["127.0.0.1:3000", "127.0.0.1:*"],
    ["db.internal", "*.internal!private"],
  ])("%s is in %s", (entry, other) => {
    expect(isWithinDomains(entry, ["other.org", other])).toBe(true);
  });

  it.each([
    ["example.com", "example.com:443"],
    ["example.com:*", "example.com"],
    ["example.com:8443", "example.com"],
    ["example.com!private", "example.com"],
    ["db.internal", "*.internal"],
    ["*.example.com", "example.com"],
    ["*.example.com", "api.example.com"],
    ["example.com", "*.example.com"],
  ])("%s is not in %s", (entry, other) => {
    expect(isWithinDomains(entry, ["other.org", other])).toBe(false);
  });
});
