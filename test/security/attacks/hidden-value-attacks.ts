import { createHash, createHmac } from "node:crypto";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { Attack } from "../attack.ts";
import { echo, runOf } from "./stored-run.ts";

/** Attacks on what takes the place of a hidden value: marks, digests, and what an approver sees. */
export const HIDDEN_VALUE_ATTACKS: readonly Attack[] = [
  {
    threat: "hidden accounts cannot be distinguished, so a double payment goes unnoticed",
    weakened: [
      {
        file: "core/secret/secret-mark.ts",
        right: "return `[secret:${digest(value)},${value.length}-characters]`;",
        wrong: "return REDACTED;",
      },
    ],
    succeeds: async (target) => {
      const library = await target.library();
      const calls = ["DE-111", "DE-222", "DE-111"].map((account) => ({ name: "pay", input: { account } }));
      const { requests } = await runOf(library, { pay: echo(library, "pay") }, calls);
      const isEvidence = requests[0] === requests[2] && requests[0] !== requests[1];
      return requests.length === 3 && !isEvidence;
    },
  },
  {
    threat: "a model hides an argument from the approver under a secret name",
    weakened: [
      {
        file: "engine/call/call-questions.ts",
        right: 'const hidden = hiddenIn(shown.arguments ?? null, "arguments");',
        wrong: "const hidden: readonly string[] = [];",
      },
    ],
    succeeds: async (target) => {
      const library = await target.library();
      const tools = { pay: echo(library, "pay", "paid", true) };
      const { waits } = await runOf(library, tools, [{ name: "pay", input: { account: "x".repeat(900) } }]);
      return !/arguments\.account is hidden because .+: 900 characters, digest [0-9a-f]{12}/.test(waits);
    },
  },
  {
    threat: "an attacker with a copy of the database finds a hidden PIN by trying all of them",
    weakened: [
      {
        file: "core/secret/secret-mark.ts",
        right: 'createHmac("sha256", key())',
        wrong: 'createHmac("sha256", "")',
      },
    ],
    succeeds: async (target) => {
      const library = await target.library();
      const tools = { login: echo(library, "login") };
      const { requests } = await runOf(library, tools, [{ name: "login", input: { pin: "4711" } }]);
      const isStored = (digest: string) => requests.join().includes(digest.slice(0, 12));
      return Array.from({ length: 10_000 }, (_, pin) => String(pin).padStart(4, "0")).some((pin) =>
        [
          createHash("sha256").update(pin).digest("hex"),
          ...["", "r-1", "pawl"].map((key) => createHmac("sha256", key).update(pin).digest("hex")),
        ].some(isStored),
      );
    },
  },
  {
    threat: "a model finds a hidden value by comparing digests of its guesses",
    weakened: [
      {
        file: "core/secret/secret-mark.ts",
        right: "return bare(value, DIGEST_IN_MARK) as T;",
        wrong: "return value;",
      },
    ],
    succeeds: async (target) => {
      const library = await target.library();
      const tools = { login: echo(library, "login", { pin: "4711" }) };
      const calls = ["4710", "4711"].map((pin) => ({ name: "login", input: { pin } }));
      const { prompts } = await runOf(library, tools, calls);
      return prompts.length === 3 && new Set(prompts[2]?.match(/\[secret[^\]]*\]/g)).size > 1;
    },
  },
  {
    threat: "a model writes a mark itself, and an approved call never runs",
    weakened: [
      {
        file: "engine/turn/turn-executor.ts",
        right: "const content = withoutForgedDigests(whole);",
        wrong: "const content = whole;",
      },
    ],
    succeeds: async (target) => {
      const { pawl, testing } = await target.library();
      let sent = 0;
      const post = pawl.tool({
        name: "post",
        description: "Posts.",
        inputSchema: z.looseObject({}),
        approval: true,
        execute: () => {
          sent += 1;
        },
      });
      const input = { body: "[secret:000000000000]" };
      const model = testing.scriptedModel(({ turn }) =>
        turn === 1 ? { toolCalls: [{ name: "post", input }] } : { text: "Done." },
      );
      const store = await pawl.openStore(":memory:");
      onTestFinished(() => store.close());
      const runner = new pawl.Runner(pawl.agent({ name: "worker", model, tools: { post } }), { store });
      await runner.run("Go", { runId: "r-1" });
      await store.approve("r-1~1");
      const { status } = await runner.resume("r-1");
      return status === "succeeded" && sent === 0;
    },
  },
];
