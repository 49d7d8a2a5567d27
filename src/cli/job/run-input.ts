import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Json } from "../../core/json.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";

/** The value of `--input`: the text itself, or with `@` the content of a file, parsed as JSON if it ends in .json. */
export async function readInput(cwd: string, given: string): Promise<Json> {
  if (!given.startsWith("@")) return given;
  const file = given.slice(1);
  const text = await contentOf(resolve(cwd, file), file);
  if (!file.toLowerCase().endsWith(".json")) return text;
  try {
    return JSON.parse(text) as Json;
  } catch (error) {
    throw new WrongUseError(
      `--input ${given} is not valid JSON: ${error instanceof Error ? error.message : ""}.`,
    );
  }
}

async function contentOf(path: string, file: string): Promise<string> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new WrongUseError(
      `--input cannot read ${JSON.stringify(file)} (${error.code}): check the name after the "@".`,
    );
  });
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new WrongUseError(`--input ${JSON.stringify(file)} is not UTF-8 text: a run takes text or JSON.`);
  }
}
