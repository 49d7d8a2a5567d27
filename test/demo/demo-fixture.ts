// Shared by the tests of the demo: the services, a folder with a job file, and an environment without keys.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { writeJobFile } from "../../src/demo/demo.ts";
import { type DemoServices, openOutside } from "../../src/demo/outside.ts";

/** A compile cache shared by the workers halves their start time. */
const COMPILE_CACHE = fileURLToPath(new URL("../../node_modules/.cache/demo-tests", import.meta.url));

/** No API key is used, so nothing is charged. */
export const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  NODE_COMPILE_CACHE: COMPILE_CACHE,
  NODE_OPTIONS: "",
  NO_COLOR: "1",
  OPENAI_API_KEY: undefined,
  ANTHROPIC_API_KEY: undefined,
  PAWL_DEMO_MODEL: undefined,
};

/** Separate services for one test. */
export async function testOutside(): Promise<DemoServices> {
  const outside = await openOutside();
  onTestFinished(() => outside.close());
  return outside;
}

/** An empty folder that is removed after the test. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-demo-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A folder with the job in it. */
export function jobFolder(outside: DemoServices): string {
  const folder = testFolder();
  writeJobFile(folder, outside);
  return folder;
}
