import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Tool } from "../../../src/engine/definition/tool.ts";
import { secret, tool } from "../../../src/index.ts";
import { memoryStore, toolResults } from "../run-fixture.ts";
import { asking, runnerOf } from "./call-fixture.ts";

const SECRET = "k-123456-abcdef";

/** What the model gets, and the receipt, for a tool with this result. */
async function resultAndReceipt(result: unknown, present: Tool["present"] = null) {
  const store = await memoryStore();
  const give = tool({
    name: "give",
    description: "Gives it.",
    inputSchema: z.object({}),
    effect: "external",
    execute: () => result,
  });
  const { runner, prompts } = runnerOf(store, { give: { ...give, present } }, [asking(["give", {}])], {
    policy: { secrets: [secret(SECRET)] },
  });
  await runner.run("Go", { runId: "r-1" });
  const [call] = await store.listToolCalls("r-1");
  return { output: toolResults(prompts[1])[0], receipt: call?.receipt };
}

describe("a tool result", () => {
  const large = Object.fromEntries(Array.from({ length: 20_001 }, (_, n) => [`k${n}`, n]));

  it("with too many names and values is not stored, which the model and the receipt report", async () => {
    for (const result of [large, Array.from({ length: 40_001 }, () => 1)]) {
      const { output, receipt } = await resultAndReceipt(result);
      expect(output).toEqual({
        type: "error-text",
        value:
          "give ran, but its result has more than 40000 names and values, which is the limit. Its effect has happened: do not call it again for that.",
      });
      expect(receipt).toMatchObject({ status: "failed", errorCode: "result_too_large", uncertain: true });
    }
  });

  it("that is long but has few values is stored without its secrets", async () => {
    const { receipt } = await resultAndReceipt(`${"\\n%41".repeat(100_000)}${SECRET}`);
    expect(receipt?.status).toBe("succeeded");
    const { output } = await resultAndReceipt({ list: Array.from({ length: 39_000 }, () => 1) });
    expect(output).not.toMatchObject({ type: "error-text" });
  });

  it("with a picture that contains a secret is shown without the picture", async () => {
    const data = Buffer.from(`picture ${SECRET} more`).toString("base64");
    const file = { type: "file", data: { type: "data", data }, mediaType: "image/png" };
    const harmless = { ...file, data: { type: "data", data: "aGFybWxlc3M=" } };
    const { output } = await resultAndReceipt("seen", () => ({
      type: "content",
      value: [{ type: "text", text: `with ${SECRET}` }, file, harmless],
    }));
    expect(output).toMatchObject({
      value: [
        { type: "text", text: "with [secret]" },
        { type: "text", text: "[A file in this result contained a secret and was removed.]" },
        harmless,
      ],
    });
  });
});
