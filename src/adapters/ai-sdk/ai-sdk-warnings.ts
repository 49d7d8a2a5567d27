import type { LanguageModelV4, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import type { AiSdkPackage } from "./ai-sdk-package.ts";
import { answerOf, throughSdk } from "./ai-sdk-stand-in.ts";

type GivenWarnings = LanguageModelV4GenerateResult["warnings"];

/** More are repeated with other words in each request. */
const MAX_REPORTED = 100;

/** The provider's warnings, such as a setting that it ignores. Each is reported once, as the SDK reports it: every turn has it. */
export class Warnings {
  readonly #reported = new Set<string>();

  async report(ai: AiSdkPackage, like: LanguageModelV4, given: GivenWarnings | undefined): Promise<void> {
    if (given === undefined || given.length === 0) return;
    const fresh = given.filter((warning) => !this.#reported.has(JSON.stringify(warning)));
    if (fresh.length === 0 || this.#reported.size > MAX_REPORTED) return;
    for (const warning of fresh) this.#reported.add(JSON.stringify(warning));
    await throughSdk(ai, like, { messages: [{ role: "user", content: "." }] }, answerOf({ warnings: fresh }));
  }
}
