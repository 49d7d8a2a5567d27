import { describe, expect, it } from "vitest";
import { decideBinding } from "../../../src/server/http/binding-decision.ts";

const url = "https://pawl.example.com";

describe("a server", () => {
  it.each(["127.0.0.1", "localhost", "::1"])("may listen on %s, which only this machine reaches", (host) => {
    expect(decideBinding({ host, publicUrl: null, hasToken: false })).toEqual({ kind: "allowed" });
  });

  it.each([
    ["nothing", { publicUrl: null, hasToken: false }, "--public-url"],
    ["a token alone", { publicUrl: null, hasToken: true }, "--public-url"],
    ["an address without TLS", { publicUrl: "http://pawl.example.com", hasToken: true }, "TLS"],
    ["TLS alone", { publicUrl: url, hasToken: false }, "no token"],
  ])("does not listen beyond this machine with %s", (_, given, why) => {
    for (const host of ["0.0.0.0", "::", "192.168.0.7", "127.0.0.1.evil.example"])
      expect(decideBinding({ host, ...given })).toMatchObject({
        kind: "refused",
        why: expect.stringContaining(why),
      });
  });

  it("listens beyond this machine with a token and a proxy that ends TLS", () => {
    expect(decideBinding({ host: "0.0.0.0", publicUrl: url, hasToken: true })).toEqual({ kind: "allowed" });
  });

  it.each(["pawl.example.com", "ftp://pawl.example.com", "https://pawl.example.com/below"])(
    "refuses %s as its public address",
    (publicUrl) => {
      expect(decideBinding({ host: "127.0.0.1", publicUrl, hasToken: true })).toMatchObject({
        kind: "refused",
      });
    },
  );
});
