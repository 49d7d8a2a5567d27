import { z } from "zod";
import { once } from "../once.ts";
import { environmentProblem } from "./blueprint-environment.ts";
import { parseDuration } from "./duration.ts";
import type { Rule } from "./run-spec-field.ts";

const LINE = /^(?!\s)[^\p{Cc}]+(?<!\s)$/u;
const LONGEST = 100_000;

// Refined instead of a pattern: a reader of the JSON Schema may not treat the pattern as a Unicode one.
function line(most: number): z.ZodString {
  return z
    .string()
    .min(1)
    .max(most)
    .refine((text) => LINE.test(text));
}

const WORD = /^\p{L}[\p{L}\p{N}_-]*$/u;

/** A name that is used in templates and before a slash: one word. */
function word(what: string): Rule<string> {
  return {
    schema: once(() =>
      z
        .string()
        .min(1)
        .max(100)
        .refine((name) => WORD.test(name)),
    ),
    must: `the name of ${what}, 1 to 100 letters, digits, "_" or "-", beginning with a letter`,
  };
}

export const PIPELINE_NAME = word("a pipeline");
export const STEP_NAME = word("a step");
export const STEP_REFERENCE = word("a step");
export const AGENT_NAME = word("an agent");

/** The names of its tools begin with it, and providers accept only short names. */
export const SERVER_NAME: Rule<string> = {
  schema: once(() => z.string().regex(/^[A-Za-z](?:[A-Za-z0-9-]|_(?!_)){0,29}(?<!_)$/)),
  must: 'the name of an MCP server, 1 to 30 letters, digits, "-" or single "_", beginning with a letter',
};

const TOOL = "[A-Za-z][A-Za-z0-9_.:-]{0,127}";
const SERVER = "[A-Za-z][A-Za-z0-9_-]{0,29}";

export const TOOL_NAME: Rule<string> = {
  schema: once(() => z.string().regex(new RegExp(`^(?:${SERVER}/)?${TOOL}$`))),
  must: 'the name of a tool, such as "send_mail", or "notes/search" for one of an MCP server',
};

export const TOOL_REFERENCE: Rule<string> = {
  schema: once(() => z.string().regex(new RegExp(`^(?:${TOOL}|${SERVER}/[A-Za-z0-9_.:*-]{1,128})$`))),
  must: 'the name of a tool, such as "read_file", or "notes/search" or "notes/*" for those of an MCP server',
};

export const MODEL: Rule<string> = {
  schema: once(() => line(200)),
  must: 'the name of a model, such as "openai/gpt-5.2"',
};

/** No slash: `provider/model` names a model of a provider's package. */
export const MODEL_NAME = word("a model");

/** A key in the file itself would be stored with the run. */
export const KEY_VARIABLE: Rule<string | null> = {
  schema: once(() =>
    z
      .string()
      .regex(/^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/)
      .nullable(),
  ),
  must: "an environment variable, ${NAME}, or null for none",
};

export const PHASE: Rule<string | null> = {
  schema: once(() => line(100).nullable()),
  must: "a name of 1 to 100 characters in one line, or null for none",
};

export const INSTRUCTIONS: Rule<string> = {
  schema: once(() => z.string().max(LONGEST)),
  must: `a text of at most ${LONGEST} characters`,
};

export const TEMPLATE: Rule<string | null> = {
  schema: once(() =>
    z
      .string()
      .max(LONGEST)
      .refine((text) => text.trim() !== "")
      .nullable(),
  ),
  must: `a text of 1 to ${LONGEST} characters, or null for the output of the previous step`,
};

export const QUESTION: Rule<string> = {
  schema: once(() =>
    z
      .string()
      .max(LONGEST)
      .refine((text) => text.trim() !== ""),
  ),
  must: `a question of 1 to ${LONGEST} characters`,
};

export const DURATION: Rule<string> = {
  schema: once(() =>
    z
      .string()
      .regex(/^\d{1,9}[dhms]$/)
      .refine((text) => parseDuration(text) !== null),
  ),
  must: "a duration such as 45s, 30m, 3h or 2d, at most ten years",
};

export const TIMEOUT: Rule<string | null> = {
  schema: once(() => DURATION.schema().nullable()),
  must: `${DURATION.must}; or null to wait without a limit`,
};

/** What `assertEventPattern` accepts. */
export const EVENT: Rule<string> = {
  schema: once(() => z.string().regex(/^([\p{L}\p{N}][\p{L}\p{N}._:/-]{0,199}\*?|\*)$/u)),
  must: "the name of an event such as payment.confirmed, or payment.*",
};

export const ANSWER: Rule<string> = {
  schema: once(() => line(200)),
  must: "an answer of 1 to 200 characters in one line",
};

export const DOTTED_PATH: Rule<string | null> = {
  schema: once(() =>
    z
      .string()
      .regex(/^[^\s.{}]+(?:\.[^\s.{}]+)*$/)
      .max(1_000)
      .nullable(),
  ),
  must: 'names with dots between them, such as "is_complete" or "review.verdict"',
};

export function COUNT(least: number, most: number): Rule<number> {
  return {
    schema: once(() => z.int().min(least).max(most)),
    must: `a whole number from ${least} to ${most}`,
  };
}

export const OUTPUT_TOKENS: Rule<number | null> = {
  schema: once(() => z.int().min(1).max(10_000_000).nullable()),
  must: "a whole number from 1 to 10000000, or null for the default",
};

export const TEMPERATURE: Rule<number | null> = {
  schema: once(() => z.number().min(0).max(2).nullable()),
  must: "a number from 0 to 2, or null for the default",
};

export const PROBABILITY: Rule<number | null> = {
  schema: once(() => z.number().min(0).max(1).nullable()),
  must: "a number from 0 to 1, or null for the default",
};

export const SEED: Rule<number | null> = {
  schema: once(() => z.int().nullable()),
  must: "a whole number, or null for none",
};

export const STOP_SEQUENCE: Rule<string> = {
  schema: once(() => z.string().min(1).max(1_000)),
  must: "a text of 1 to 1000 characters",
};

const LEVELS = ["provider-default", "none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

export const REASONING: Rule<string | null> = {
  schema: once(() => z.enum(LEVELS).nullable()),
  must: `one of ${LEVELS.join(", ")}, or null for the default`,
};

function environmentWhy(text: string | null): string | null {
  const problem = environmentProblem(text ?? "");
  return problem === null ? null : `it ${problem.replace(/\.$/, "")}`;
}

const noNul = (text: string) => !text.includes("\0");

export const ARGUMENT: Rule<string> = {
  schema: once(() => z.string().max(LONGEST).refine(noNul)),
  must: `a text of at most ${LONGEST} characters; put numbers and true or false in quotes`,
  why: environmentWhy,
};

export const COMMAND: Rule<string> = {
  schema: once(() => line(1_000)),
  must: 'a program, such as "npx" or "./server.js"; what follows it goes into args',
  why: (text) => environmentWhy(text) ?? (text.startsWith("~") ? '"~" works in a shell only' : null),
};

export const FOLDER: Rule<string | null> = {
  schema: once(() => line(1_000).nullable()),
  must: "the path of a folder, or null for that of this file",
  why: (text) => {
    if (text?.startsWith("~")) return '"~" works in a shell only, so write the whole path';
    return text?.includes("${")
      ? "a folder must be the same for every user, so it cannot have variables"
      : null;
  },
};

export const URL_TEXT: Rule<string> = {
  schema: once(() => line(2_000).refine((text) => text.includes("${") || isWebAddress(text))),
  must: 'an address such as "https://example.com/mcp"',
  why: environmentWhy,
};

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol);
}

/** True if an address contains a user name or password, which would be stored and shown. */
export function hasCredentials(address: string): boolean {
  const { username = "", password = "" } = URL.parse(address) ?? {};
  return username !== "" || password !== "";
}

export const VARIABLE_NAME: Rule<string> = {
  schema: once(() => z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)),
  must: 'the name of a variable, letters, digits or "_"',
};

export const HEADER_NAME: Rule<string> = {
  schema: once(() => z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/)),
  must: 'the name of a header, such as "Authorization"',
};
