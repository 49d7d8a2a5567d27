import type { CliContext } from "../context/cli-context.ts";

/** The real model of a new project: its code, and the package that has it. */
export type ProjectModel = {
  /** The environment variable with its API key. */
  readonly keyName: string;
  /** The name that its package exports. */
  readonly name: string;
  readonly packageName: string;
  readonly expression: string;
};

const OPENAI: ProjectModel = {
  keyName: "OPENAI_API_KEY",
  name: "openai",
  packageName: "@ai-sdk/openai",
  expression: 'openai("gpt-5.2")',
};

const MODELS: readonly ProjectModel[] = [
  OPENAI,
  {
    keyName: "ANTHROPIC_API_KEY",
    name: "anthropic",
    packageName: "@ai-sdk/anthropic",
    expression: 'anthropic("claude-sonnet-4-5")',
  },
  {
    keyName: "AI_GATEWAY_API_KEY",
    name: "gateway",
    packageName: "ai",
    expression: 'gateway("openai/gpt-5.2")',
  },
];

/** The model whose API key is in the environment; OpenAI's if there is no key. */
export function chooseProjectModel(env: CliContext["env"]): ProjectModel {
  return MODELS.find(({ keyName }) => (env[keyName] ?? "") !== "") ?? OPENAI;
}
