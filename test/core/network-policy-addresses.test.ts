// Which addresses count as public, in every spelling, and which ones a host may resolve to.

import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkAddress, isPublicAddress } from "../../src/core/network-policy.ts";
import { domains, PRIVATE_TOO, PUBLIC, why } from "./network-policy-fixture.ts";

const PRIVATE = [
  ["this network", "0.0.0.0", "0.255.255.255"],
  ["private", "10.0.0.0", "10.255.255.255"],
  ["carrier-grade NAT", "100.64.0.0", "100.127.255.255"],
  ["loopback", "127.0.0.0", "127.255.255.255"],
  ["link-local", "169.254.0.0", "169.254.255.255"],
  ["private", "172.16.0.0", "172.31.255.255"],
  ["protocol assignments", "192.0.0.0", "192.0.0.255"],
  ["documentation", "192.0.2.0", "192.0.2.255"],
  ["6to4 relays", "192.88.99.0", "192.88.99.255"],
  ["private", "192.168.0.0", "192.168.255.255"],
  ["benchmarks", "198.18.0.0", "198.19.255.255"],
  ["documentation", "198.51.100.0", "198.51.100.255"],
  ["documentation", "203.0.113.0", "203.0.113.255"],
  ["Azure's host agent", "168.63.129.16", "168.63.129.16"],
  ["multicast, reserved and broadcast", "224.0.0.0", "255.255.255.255"],
] as const;

const toNumber = (address: string): number =>
  address.split(".").reduce((sum, byte) => sum * 256 + Number(byte), 0);
const toAddress = (number: number): string =>
  [24, 16, 8, 0].map((shift) => (number / 2 ** shift) & 255).join(".");

describe("an IPv4 address", () => {
  it.each(PRIVATE)("of %s is not public, from %s to %s", (_name, first, last) => {
    expect(isPublicAddress(first)).toBe(false);
    expect(isPublicAddress(last)).toBe(false);
    if (first !== "0.0.0.0") expect(isPublicAddress(toAddress(toNumber(first) - 1))).toBe(true);
    if (last !== "255.255.255.255") expect(isPublicAddress(toAddress(toNumber(last) + 1))).toBe(true);
  });

  it("is public exactly outside of these ranges, also inside an IPv6 address", () => {
    const near = fc.constantFrom(...PRIVATE.flatMap(([, first, last]) => [first, last])).map(toNumber);
    const anyNumber = fc.oneof(
      fc.nat(2 ** 32 - 1),
      fc
        .tuple(near, fc.integer({ min: -300, max: 300 }))
        .map(([a, b]) => Math.min(Math.max(a + b, 0), 2 ** 32 - 1)),
    );
    fc.assert(
      fc.property(anyNumber, (number) => {
        const address = toAddress(number);
        const isPrivate = PRIVATE.some(
          ([, first, last]) => toNumber(first) <= number && number <= toNumber(last),
        );
        expect(isPublicAddress(address)).toBe(!isPrivate);
        expect(isPublicAddress(`::ffff:${address}`)).toBe(!isPrivate);
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(!isPrivate);
        expect(isPublicAddress(`::${address}`)).toBe(false);
        expect(isPublicAddress(`::ffff:0:${address}`)).toBe(false);
      }),
    );
  });

  it.each([
    "1.2.3",
    "1.2.3.4.5",
    "256.1.1.1",
    "010.8.8.8",
    "08.8.8.8",
    "0x8.8.8.8",
    "134744072",
    "8.8.8.8 ",
    "8.8.8.8/32",
    "8.8.8.-8",
  ])("that is invalid, %j, is not public", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });
});

describe("an IPv6 address", () => {
  it.each([
    "2606:4700:4700::1111",
    "2001:4860:4860:0:0:0:0:8888",
    "2A00:1450:4001:80F::200E",
    "2001:200::1",
    "2003::1",
    "[2606:4700:4700::1111]",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
  ])("%s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    "::",
    "::1",
    "0:0:0:0:0:0:0:1",
    "::8.8.8.8",
    "::ffff:10.0.0.1",
    "::FFFF:7f00:1",
    "::ffff:0:8.8.8.8",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2001:1ff:ffff::1",
    "2002:808:808::1",
    "2002:7f00:1::1",
    "3fff::1",
    "3fff:fff:ffff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
  ])("%s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it.each([
    "",
    ":",
    ":::",
    "1::2::3",
    "2606:4700",
    "2606:4700:4700::11111",
    "[::1]]",
    "[2606:4700::1",
    "2606:4700::1]",
    "[[2606:4700::1]]",
    "g::1",
    "::1]/x[",
  ])("that is invalid, %j, is not public", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });

  it("is judged the same in every spelling", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        expect(isIP(address)).toBe(6);
        const [checked, ...others] = [
          address,
          address.toUpperCase(),
          `[${address}]`,
          new URL(`http://[${address}]`).hostname,
        ].map(isPublicAddress);
        for (const other of others) expect(other).toBe(checked);
      }),
    );
  });
});

describe("the address that a host resolves to", () => {
  it("may be any public one", () => {
    expect(checkAddress(PUBLIC, "example.com:443", "8.8.8.8")).toEqual({ ok: true });
    expect(checkAddress(domains("*.example.com"), "a.example.com:443", "2606:4700::1")).toEqual({ ok: true });
  });

  it("may not be private, by default and below a wildcard", () => {
    for (const policy of [PUBLIC, domains("*.example.com")]) {
      expect(checkAddress(policy, "a.example.com:443", "127.0.0.1")).toEqual({
        ok: false,
        why: "The host a.example.com resolves to 127.0.0.1, which is private or reserved: add a.example.com!private to allowedDomains if this is intended, or set allowPrivateAddresses.",
      });
    }
  });

  it("may be private if that is allowed, with or without a zone", () => {
    expect(checkAddress(PRIVATE_TOO, "intranet.corp:80", "fe80::1%eth0")).toEqual({ ok: true });
    for (const address of ["10.0.0.1", "::1", "fd00::1"]) {
      expect(checkAddress(PRIVATE_TOO, "intranet.corp:80", address)).toEqual({ ok: true });
      expect(checkAddress(domains("Intranet.Corp.!private"), "intranet.corp:80", address)).toEqual({
        ok: true,
      });
      expect(checkAddress(domains("*.corp!private"), "intranet.corp", address)).toEqual({ ok: true });
      expect(checkAddress(domains("localhost"), "localhost:80", address)).toEqual({ ok: true });
    }
  });

  it("may not be private for a name that is merely listed: its owner decides what it resolves to", () => {
    for (const address of ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "::ffff:10.0.0.1"]) {
      expect(checkAddress(domains("museum.example"), "museum.example:443", address)).toMatchObject({
        ok: false,
        why: expect.stringContaining("add museum.example!private to allowedDomains if this is intended"),
      });
    }
    expect(checkAddress(domains("museum.example:8080"), "museum.example:8080", "10.0.0.1")).toMatchObject({
      why: expect.stringContaining("add museum.example:8080!private to allowedDomains"),
    });
  });

  it("may be private at the listed port, and at no other", () => {
    const policy = domains("localhost:8080", "*.corp", "[::1]:8080");
    expect(checkAddress(policy, "localhost:8080", "127.0.0.1").ok).toBe(true);
    expect(checkAddress(policy, "[::1]:8080", "::1").ok).toBe(true);
    expect(checkAddress(policy, "localhost:8081", "127.0.0.1").ok).toBe(false);
    expect(checkAddress(policy, "localhost", "127.0.0.1").ok).toBe(false);
    expect(checkAddress(domains("db.corp:8080!private"), "db.corp:8081", "10.0.0.1").ok).toBe(false);
  });

  it("may not be private because of another host in the list", () => {
    expect(checkAddress(domains("localhost", "example.com"), "evil.org:80", "127.0.0.1").ok).toBe(false);
    expect(checkAddress(domains("127.0.0.1"), "evil.org:80", "127.0.0.1").ok).toBe(false);
  });

  it.each(["", "localhost", "256.0.0.1", "127.1"])("is refused if it is invalid: %j", (address) => {
    expect(checkAddress(PRIVATE_TOO, "example.com:80", address)).toMatchObject({
      ok: false,
      why: expect.stringContaining("which is no IP address"),
    });
  });

  it("is refused for an invalid host", () => {
    expect(checkAddress(PRIVATE_TOO, "https://example.com", "8.8.8.8").ok).toBe(false);
  });

  it.each([
    "169.254.169.254",
    "169.254.170.2",
    "169.254.0.23",
    "168.63.129.16",
    "192.0.0.192",
    "100.100.100.200",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fe80::a9fe:a9fe",
    "fe80::a9fe:a9fe%eth0",
    "::ffff:169.254.169.254",
    "::169.254.169.254",
    "::ffff:0:169.254.169.254",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::100.100.100.200",
    "2002:a9fe:a9fe::1",
    "169.254.42.42",
    "169.254.1.1",
    "fd00:42::42",
    "fd00:c1::a9fe:a9fe",
    "fd00:a9fe:a9fe::1",
    "fd12:3456::6464:64c8",
    "64:ff9b:1:a9fe:a9:fe00::",
    "64:ff9b:1:0:a9:fea9:fe00:0",
    "64:ff9b:1:a9:fe:a9fe::",
    "fe80::5efe:a9fe:a9fe",
    "2606:4700::200:5efe:169.254.169.254",
    "2001:0:a9fe:a9fe::",
    "2001:0:1:2:0:0:5601:5601",
  ])("is never %s, which serves cloud credentials, whatever is allowed", (address) => {
    const literal = address.includes(":") ? `[${address}]` : address;
    const allowed = ["api.example.com!private", "localhost", "*.corp!private"];
    for (const allowPrivateAddresses of [false, true]) {
      const policy = { allowedDomains: [...allowed, literal], allowPrivateAddresses };
      for (const host of ["api.example.com:443", "localhost:80", "db.corp:80"])
        expect(checkAddress(policy, host, address)).toMatchObject({
          ok: false,
          why: expect.stringContaining("serves the credentials of a cloud machine"),
        });
      if (address.includes("%")) continue;
      expect(why(policy, `http://${literal}/latest/meta-data`)).toMatch(/no tool may connect there\.$/);
      expect(why({ ...policy, allowedDomains: [] }, `http://${literal}/`)).toMatch(
        /no tool may connect there\.$/,
      );
    }
  });
});

it.each([
  "metadata.google.internal",
  "METADATA.google.internal.",
  "metadata.goog",
  "instance-data",
  "metadata.tencentyun.com",
])("a cloud's name for its metadata server is refused too: %s", (host) => {
  const policy = { allowedDomains: [`${host}!private`], allowPrivateAddresses: true };
  expect(why(policy, `http://${host}/`)).toMatch(/no tool may connect there\.$/);
});

it.each([
  "2606:4700::a9fe:a9fe",
  "2606:4700:a9fe:a9fe::1",
  "fd12:3456::1",
  "fd12:a9fe::1",
  "fe80::1",
  "64:ff9b::8.8.8.8",
  "2002:0808:0808::1",
])("an address that merely resembles a metadata server's is allowed: %s", (address) => {
  expect(checkAddress(PRIVATE_TOO, "db.corp:80", address)).toEqual({ ok: true });
});
