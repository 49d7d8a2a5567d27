// What the examples in doc comments use and do not declare: each is one line of a longer program.

import type { LanguageModel } from "ai";
import {
  type Agent,
  type CodeStepContext,
  type DurableMainLoop,
  type ForeignTool,
  openStore,
  Pipeline,
  Session,
  Step,
  type StepNode,
  type Tool,
  type ToolCallContext,
} from "../../../src/index.ts";

export declare const call: ToolCallContext;
export declare const ctx: CodeStepContext;
export declare const draft: StepNode<string>;
export declare const clerk: Agent<string>;
export declare const mailer: Agent<string>;
export declare const model: LanguageModel;
export declare const pipeline: StepNode<string>;
export declare const loop: DurableMainLoop<string>;
export declare const researcher: Agent<string>;
export declare const worker: Agent<string>;
export declare const search: Tool<{ query: string }, string[]>;
export declare const weather: ForeignTool<{ city: string }, { celsius: number }>;
export declare const response: Response;
export declare function pino(): { debug(): void; info(): void; warn(): void; error(): void };
export declare const request: { objective: string };
export declare function isHoliday(): Promise<boolean>;
export declare function it(name: string, check: () => Promise<void>): void;

export const report = Pipeline.of(
  "report",
  Step.run("write", () => "A report."),
);
export const store = await openStore(":memory:");
export const session = new Session({ id: "s-1", createdAt: 0, slices: [] });
