// Agents and pipelines that a page has shown before, or that are the reader's own.

import type { LanguageModel } from "ai";
import type { Agent, PromptTemplate, StepNode, Tool } from "../../../src/index.ts";

export declare const clerk: Agent<string>;
export declare const reader: Agent<string>;
export declare const researcher: Agent<string>;
export declare const pipeline: StepNode<string>;
export declare const report: StepNode<string>;
export declare const model: LanguageModel;
export declare const search: Tool<{ query: string }, string[]>;
export declare const prompt: PromptTemplate;
export declare const runId: string;
