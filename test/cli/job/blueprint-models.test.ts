import { expect, test, vi } from "vitest";
import { findModels } from "../../../src/cli/job/blueprint-models.ts";
import { startProvider } from "./blueprint-provider.ts";

test("a provider's address is read whenever a job names its model, not once per process", async () => {
  const request = {
    instructions: "",
    messages: [{ role: "user", content: "Who are you?" }] as const,
    tools: [],
    outputSchema: null,
    settings: { maxOutputTokens: 100 },
    signal: new AbortController().signal,
  };
  for (const name of ["first", "second"]) {
    vi.unstubAllEnvs();
    const provider = await startProvider(() => `The ${name} one.`);
    const model = (await findModels(["openai/gpt-5.2"], {}, null)).get("openai/gpt-5.2");
    const answer = await model?.respond(request);
    expect(JSON.stringify(answer?.content)).toContain(`The ${name} one.`);
    expect(provider.asked).toHaveLength(1);
  }
});
