import type { ProjectModel } from "./project-model.ts";

// The TypeScript files of a new project, as text: a bundle of Pawl has no folder of templates to copy. Tests type-check, format
// and run what is written.

/** The agent, its tool and its model. */
export function agentSource(model: ProjectModel): string {
  const script = `/** A model that follows a script and needs no API key. The crash test uses it too. */
export const script = scriptedModel(({ turn, options }) => {
  const [, order = "A-17"] = /order (\\S+)/i.exec(JSON.stringify(options.prompt)) ?? [];
  return turn === 1
    ? { toolCalls: [{ name: "refund", input: { order, euros: 40 } }] }
    : { text: \`I refunded 40 euros for order \${order}.\` };
});
`;
  const choice = `/** With ${model.keyName} in the environment, a real model. Every model of the AI SDK can be used here. */
const model = process.env.${model.keyName} ? ${model.expression} : script;
`;
  return [`${agentImports(model)}\n`, script, choice, CLERK].join("\n");
}

function agentImports({ name, packageName }: ProjectModel): string {
  const imports = [
    `import { ${name} } from "${packageName}";`,
    'import { agent, tool } from "pawl";',
    'import { scriptedModel } from "pawl/testing";',
    'import { z } from "zod";',
    'import { type Bank, slowBank } from "./bank.ts";',
  ];
  return imports.join("\n");
}

const CLERK = `export function clerkWith(bank: Bank) {
  const refund = tool({
    description: "Refund an order.",
    inputSchema: z.object({ order: z.string(), euros: z.number().positive() }),
    effect: "external",
    // If the process dies in a refund, the call is made again with the same key, and the bank pays once.
    recovery: "keyed",
    execute: (input, call) => bank.refund(input, call.idempotencyKey),
  });
  return agent({
    name: "clerk",
    model,
    instructions: "Refund what the customer is owed, then say what you did.",
    tools: { refund },
  });
}

export const clerk = clerkWith(slowBank);
`;

export const BANK_SOURCE = `import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export type Refund = { readonly order: string; readonly euros: number };

export type Bank = { refund(refund: Refund, key: string): Promise<{ readonly id: string }> };

const PAYMENTS = "payments.log";

/**
 * Stands in for your payment provider. Like a real one it takes an idempotency key, pays once for each key, and may be slow
 * to answer.
 */
export const slowBank: Bank = {
  async refund({ order, euros }, key) {
    const payments = existsSync(PAYMENTS) ? readFileSync(PAYMENTS, "utf8") : "";
    if (payments.includes(key)) {
      console.log(\`bank: has already paid \${euros} euros for order \${order}\`);
    } else {
      appendFileSync(PAYMENTS, \`\${euros} euros for order \${order}, key \${key}\\n\`);
      console.log(\`bank: pays \${euros} euros for order \${order}\`);
      console.log(\`bank: answers in 5 seconds; to crash before that: kill -9 \${process.pid}\`);
      await sleep(5_000);
    }
    return { id: \`payment-\${key.slice(0, 8)}\` };
  },
};
`;

export const MAIN_SOURCE = `import { Runner } from "pawl";
import { clerk } from "./agent.ts";

const order = process.argv[2] ?? "A-17";

// The same id is the same run: after a crash, start this program again, and the run resumes.
const { output, usage } = await new Runner(clerk).run(
  \`The vase of order \${order} arrived broken. It cost 40 euros.\`,
  { runId: \`order-\${order}\` },
);
console.log(\`\${output} (\${usage.charged.tokens} tokens)\`);
`;

export const TEST_SOURCE = `import { test } from "node:test";
import { crashExplorer } from "pawl/testing/crash";
import { clerkWith, script } from "./agent.ts";

test("the clerk refunds once, wherever its process dies", async () => {
  const report = await crashExplorer({
    // The tool itself runs, so the test sees whether it passes its key on. This bank pays nothing.
    pipeline: clerkWith({ refund: async (_refund, key) => ({ id: key }) }),
    input: "The vase of order A-17 arrived broken. It cost 40 euros.",
    model: script,
    modes: ["crash"],
  });
  console.log(String(report));
  report.assertKept();
});
`;

export const CONFIG_SOURCE = `import { defineConfig, succeededOnce } from "pawl";
import { clerk } from "./agent.ts";

/** What the command line runs: \`pawl run job.yaml\` finds the pipeline and the stop condition here. */
export default defineConfig({
  pipelines: { clerk },
  stopConditions: { refunded_once: succeededOnce("refund") },
});
`;
