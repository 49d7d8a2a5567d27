// Two secrets are two effects although both are stored as [secret], and neither can be derived from what is stored.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toolCallIdentityHash, toolCallKey } from "../../../src/core/call/tool-call-key.ts";
import { type Json, Runner, Step, secret, tool } from "../../../src/index.ts";
import { asking, ledger, runnerOf } from "../call/call-fixture.ts";
import { databaseFile, failureOf, fileStore, memoryStore, must } from "../run-fixture.ts";

describe("calls that differ only in a secret", () => {
  it("are two effects for two secret recipients, and one for the same", async () => {
    const store = await memoryStore();
    const sent: string[] = [];
    const send = tool({
      name: "send_email",
      description: "Sends a mail.",
      inputSchema: z.object({ to: z.string(), subject: z.string(), body: z.string() }),
      execute: ({ to }) => {
        sent.push(to);
        return `sent ${sent.length}`;
      },
    });
    const recipients = ["alice@example.com", "bobby@example.com", "alice@example.com"];
    const step = Step.run("mail", async (_input: Json, ctx) => {
      const results: Json[] = [];
      for (const to of recipients)
        results.push(await ctx.call(send, { to: secret(to), subject: "Invoice", body: "Pay." }));
      return results;
    });
    const { output } = await new Runner(step, { store }).run("Go", { runId: "r-1" });
    expect(output).toEqual(["sent 1", "sent 2", "sent 1"]);
    expect(sent).toEqual(["alice@example.com", "bobby@example.com"]);
    expect((await ledger(store)).map(([status]) => status)).toEqual([
      "succeeded",
      "succeeded",
      "deduplicated",
    ]);
  });

  it("are two effects for two cards if the policy names the field", async () => {
    const store = await memoryStore();
    const created: string[] = [];
    const create = tool({
      name: "create_card",
      description: "Creates a card.",
      inputSchema: z.object({ pan: z.string() }),
      effect: "external",
      dedupe: "effect",
      execute: ({ pan }) => {
        created.push(pan);
        return "created";
      },
    });
    const pans = ["4111111111111111", "5500000000000004", "4111111111111111"];
    const turns = pans.map((pan) => asking(["create_card", { pan }]));
    const { runner } = runnerOf(store, { create_card: create }, turns, { policy: { secretKeys: ["pan"] } });
    expect((await runner.run("Go", { runId: "r-1" })).status).toBe("succeeded");
    expect(created).toEqual(["4111111111111111", "5500000000000004"]);
    const calls = await store.listToolCalls("r-1");
    const marks = calls.map(({ request }) => JSON.stringify(request));
    expect(marks[0]).toMatch(/^\{"pan":"\[secret:[0-9a-f]{12},16-characters\]"\}$/);
    expect([marks[1] === marks[0], marks[2] === marks[0]]).toEqual([false, true]);
  });

  it("get their own receipts back after a restart, in any order", async () => {
    const store = await memoryStore();
    const paid: string[] = [];
    const pay = tool({
      name: "pay_out",
      description: "Pays out.",
      inputSchema: z.object({ account: z.string() }),
      effect: "external",
      recovery: "keyed",
      dedupe: "call",
      execute: ({ account }) => {
        paid.push(account);
        return `payment ${paid.length}`;
      },
    });
    let accounts = ["alice-account-1"];
    let broken = true;
    const step = Step.run("pay", async (_input: Json, ctx) => {
      const pairs = accounts.map(
        async (account) => [account.slice(0, 5), await ctx.call(pay, { account: secret(account) })] as const,
      );
      const results = Object.fromEntries(await Promise.all(pairs));
      if (broken) throw new Error("Interrupted.");
      return results;
    });
    await failureOf(new Runner(step, { store }).run("Go", { runId: "r-1" }));
    broken = false;
    accounts = ["bobby-account-2", "alice-account-1"];
    const { output } = await new Runner(step, { store }).resume("r-1");
    expect(output).toEqual({ alice: "payment 1", bobby: "payment 2" });
    expect(paid).toEqual(["alice-account-1", "bobby-account-2"]);
  });
});

describe("a database with two different secrets", () => {
  it("contains neither of them, nor a hash that would confirm a guess", async () => {
    const file = databaseFile();
    const store = await fileStore(file);
    const pay = tool({
      name: "pay_out",
      description: "Pays out.",
      inputSchema: z.object({ account: z.string() }),
      effect: "external",
      dedupe: "effect",
      execute: () => "paid",
    });
    const accounts = ["alice-account-1", "bobby-account-2"];
    const step = Step.run("pay", async (_input: Json, ctx) => {
      await ctx.call(pay, { account: "public-account" });
      for (const account of accounts) await ctx.call(pay, { account: secret(account) });
      return "done";
    });
    await new Runner(step, { store }).run("Go", { runId: "r-1" });
    const stored = Buffer.concat([readFileSync(file), readFileSync(`${file}-wal`)]);
    /** True for each text derived from a guess, in bytes or in hex, that is in the file. */
    const findings = (account: string) => {
      const hash = toolCallIdentityHash("local", "pay_out", { account });
      const scope = { kind: "effect" } as const;
      const key = toolCallKey({
        runId: "r-1",
        namespace: "local",
        tool: "pay_out",
        identityHash: hash,
        scope,
        occurrence: 1,
      });
      const needles = [account, hash, hash.toString("hex"), key, key.toString("hex")];
      return needles.map((needle) => stored.includes(needle));
    };
    // A value that is no secret is found in this way, so the search works.
    expect(findings("public-account")).toMatchObject([true, true, {}, true, {}]);
    for (const account of accounts) expect(findings(account)).toEqual([false, false, false, false, false]);
    const [, alice, bobby] = await store.listToolCalls("r-1");
    expect(must(alice).identityHash).not.toBe(must(bobby).identityHash);
  });

  it("stores different hashes of the same secret in different runs", async () => {
    const store = await memoryStore();
    const pay = tool({
      name: "pay_out",
      description: "Pays out.",
      inputSchema: z.object({ account: z.string() }),
      effect: "external",
      execute: () => "paid",
    });
    const step = Step.run("pay", (_input: Json, ctx) =>
      ctx.call(pay, { account: secret("alice-account-1") }),
    );
    for (const runId of ["r-1", "r-2"]) await new Runner(step, { store }).run(runId, { runId });
    const [first] = await store.listToolCalls("r-1");
    const [second] = await store.listToolCalls("r-2");
    expect(must(first).identityHash).not.toBe(must(second).identityHash);
  });
});
