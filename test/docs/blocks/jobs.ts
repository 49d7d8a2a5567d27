// The YAML blocks of the pages: job files, checked by the parser of `pawl run` and by the schema for editors.

import { parse } from "yaml";
import { parseJob } from "../../../src/cli/job/job-file.ts";
import { JobFileError } from "../../../src/cli/job/job-file-error.ts";
import { jobFileTools } from "../../../src/cli/job/job-file-tools.ts";
import { runSpecJsonSchema } from "../../../src/core/job/run-spec.ts";
import type { Json } from "../../../src/core/json.ts";
import { checkBySchema } from "../../../src/core/zod-json-schema.ts";
import type { Block } from "./blocks.ts";

/** What `pawl run` would not accept in the block, each with its place on the page. */
export async function jobProblems({ page, line, text }: Block): Promise<readonly string[]> {
  const tools = await jobFileTools({}, {});
  try {
    parseJob(text, "yaml", page, tools);
  } catch (error) {
    if (!(error instanceof JobFileError)) throw error;
    return error.details.problems.map(
      ({ line: at, path, message }) => `${page}:${line - 1 + (at ?? 1)}: ${path} ${message}`,
    );
  }
  const check = checkBySchema(runSpecJsonSchema(), parse(text) as Json);
  return check.ok ? [] : [`${page}:${line}: the schema for editors refuses it: ${JSON.stringify(check)}`];
}
