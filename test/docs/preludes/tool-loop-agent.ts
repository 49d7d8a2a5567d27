// What a program that already uses the AI SDK has.

import type { LanguageModel, ToolSet } from "ai";

export declare const settingsOfYourToolLoopAgent: { model: LanguageModel; instructions: string };

export declare const yourAiSdkTools: ToolSet;
