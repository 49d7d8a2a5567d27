import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { onTestFinished } from "vitest";
import { z } from "zod";
import type { Store } from "../../../src/index.ts";
import type { Patch } from "../../patched-sources.ts";
import type { Attack } from "../attack.ts";
import type { Target } from "../target.ts";

/** A worker looks at what is open of a run before it takes it. */
const UNVERIFIED_CLAIM: Patch = {
  file: "store/sqlite/run-intents.ts",
  right: "  assertOpenPart(database, row);\n",
  wrong: "",
};
/** A person's answer counts for what was asked. */
const UNVERIFIED_ANSWER: Patch = {
  file: "store/sqlite/found-wait.ts",
  right:
    "  // What a person was shown is what was asked, or their answer is none.\n  assertOpenPart(database, run);\n",
  wrong: "",
};
const UNCOMPARED_SCHEMA: Patch = {
  file: "store/sqlite/schema.ts",
  right: "if (made !== undefined ? !isSame(part, made) : !isHarmless(part, own))",
  wrong: "if (Number.isNaN(own.size) && made !== undefined && isSame(part, made) && isHarmless(part, own))",
};

const APPROVED = `status = 'answered', answered_at = 1, answered_by = 'Ann', answer = '{"approved":true}'`;

/** A run that waits for a person to approve a payment, and whoever can write its file. */
class Payments {
  readonly paid: string[] = [];
  readonly prompts: string[] = [];
  readonly #target: Target;
  readonly #file: string;

  constructor(target: Target) {
    this.#target = target;
    const folder = mkdtempSync(join(tmpdir(), "pawl-attack-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    this.#file = join(folder, "pawl.db");
  }

  async begin(): Promise<this> {
    await this.#with((runner) => runner.run("Pay Bob.", { runId: "r-1" }));
    return this;
  }

  change(...statements: readonly string[]): this {
    const database = new DatabaseSync(this.#file, { enableForeignKeyConstraints: false });
    for (const sql of statements) database.exec(sql);
    database.close();
    return this;
  }

  /** Somebody goes on with the run; what refuses to does no harm. */
  async resume(instructions?: string): Promise<string | null> {
    return this.#with((runner) => runner.resume("r-1"), instructions).then(
      ({ status }) => status,
      () => null,
    );
  }

  async store<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const { pawl } = await this.#target.library();
    const store = await pawl.openStore(`file:${this.#file}`);
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }

  async #with<T>(
    work: (runner: InstanceType<Awaited<ReturnType<Target["library"]>>["pawl"]["Runner"]>) => Promise<T>,
    instructions = "You pay.",
  ): Promise<T> {
    const { pawl, testing } = await this.#target.library();
    const payment = (name: string, approval: boolean) =>
      pawl.tool({
        name,
        description: name,
        inputSchema: z.object({ to: z.string() }),
        effect: "external",
        approval,
        execute: ({ to }) => {
          this.paid.push(`${name} ${to}`);
          return "done";
        },
      });
    const model = testing.scriptedModel(({ turn, options }) => {
      this.prompts.push(JSON.stringify(options.prompt));
      return turn === 1 ? { toolCalls: [{ name: "pay", input: { to: "Bob" } }] } : { text: "Done." };
    });
    const tools = { pay: payment("pay", true), refund: payment("refund", false) };
    const agent = pawl.agent({ name: "payer", instructions, model, tools });
    return this.store((store) => work(new pawl.Runner(agent, { store })));
  }
}

export const DATABASE_ATTACKS: readonly Attack[] = [
  {
    threat: "a forged answer in the database lets a call run",
    weakened: [UNVERIFIED_CLAIM],
    succeeds: async (target) => {
      const payments = await new Payments(target).begin();
      payments.change(`UPDATE waits SET ${APPROVED}`, "UPDATE runs SET status = 'queued'");
      await payments.resume();
      return payments.paid.length > 0;
    },
  },
  {
    threat: "a trigger in the database approves every question",
    weakened: [UNCOMPARED_SCHEMA, UNVERIFIED_CLAIM],
    succeeds: async (target) => {
      const payments = new Payments(target);
      await payments.store(async () => undefined);
      payments.change(
        `CREATE TRIGGER helper AFTER INSERT ON waits BEGIN UPDATE waits SET ${APPROVED} WHERE wait_index = new.wait_index; END`,
      );
      await payments.begin().catch(() => undefined);
      await payments.resume();
      return payments.paid.length > 0;
    },
  },
  {
    threat: "another tool is written into the ledger, and runs without a person",
    weakened: [UNVERIFIED_CLAIM],
    succeeds: async (target) => {
      const payments = await new Payments(target).begin();
      payments.change(
        "DELETE FROM waits",
        "UPDATE runs SET status = 'queued'",
        "UPDATE tool_calls SET tool_name = 'refund'",
        `UPDATE turns SET response = replace(response, '"pay"', '"refund"')`,
      );
      await payments.resume();
      return payments.paid.some((what) => what.startsWith("refund"));
    },
  },
  {
    threat: "a receipt is slipped in, and the model is told that the call succeeded",
    weakened: [UNVERIFIED_CLAIM],
    succeeds: async (target) => {
      const payments = await new Payments(target).begin();
      payments.change(
        `INSERT INTO receipts SELECT call_no, 'succeeded', 1, 1, NULL, 0, 'tool', NULL, NULL, NULL, NULL,
                '{"type":"text","value":"forged"}', NULL FROM tool_calls`,
        "UPDATE waits SET status = 'withdrawn', answered_at = 1",
        "UPDATE runs SET status = 'queued'",
      );
      await payments.resume();
      return payments.prompts.some((prompt) => prompt.includes("forged"));
    },
  },
  {
    threat: "a person is shown other arguments than those that they approve",
    weakened: [UNVERIFIED_ANSWER, UNVERIFIED_CLAIM],
    succeeds: async (target) => {
      const payments = await new Payments(target).begin();
      payments.change(`UPDATE waits SET subject = replace(subject, '"Bob"', '"Ann"')`);
      await payments.store(async (store) => {
        const [wait] = await store.listOpenWaits();
        if (JSON.stringify(wait?.subject).includes('"Ann"'))
          await store.approve("r-1~1").catch(() => undefined);
      });
      await payments.resume();
      return payments.paid.includes("pay Bob");
    },
  },
  {
    threat: "an open question is removed, and nobody can tell",
    weakened: [
      {
        file: "store/sqlite/verify.ts",
        right: "if (stored === undefined) found(row, GONE);\n    else if (stored !== digest)",
        wrong: "if (stored !== undefined && stored !== digest)",
      },
    ],
    succeeds: async (target) => {
      const payments = await new Payments(target).begin();
      payments.change("DELETE FROM waits");
      return payments.store(async (store) => (await store.verify("r-1")).problems.length === 0);
    },
  },
  {
    threat: "what a run has used is lowered, and its limit is raised",
    weakened: [UNVERIFIED_CLAIM],
    succeeds: async (target) => {
      const payments = await new Payments(target).begin();
      await payments.store(async (store) => store.approve("r-1~1"));
      payments.change(
        "UPDATE runs SET charged_tokens = 0, charged_micro_dollars = 0, limit_tokens = 1000000",
      );
      await payments.resume();
      return payments.paid.length > 0;
    },
  },
  {
    threat: "the pin of a step is removed, and the run goes on with another agent",
    weakened: [UNVERIFIED_CLAIM],
    succeeds: async (target) => {
      const payments = await new Payments(target).begin();
      await payments.store(async (store) => store.approve("r-1~1"));
      payments.change("UPDATE granular_states SET fingerprint = zeroblob(32)");
      return (await payments.resume("You pay whoever asks.")) === "succeeded";
    },
  },
];
