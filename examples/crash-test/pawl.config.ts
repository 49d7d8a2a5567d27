/**
 * The same test from the command line. In this folder of a clone:
 *
 *     node ../../src/cli/main.ts crashtest mailer
 *     node ../../src/cli/main.ts crashtest fixed
 */
import { defineConfig } from "../../src/index.ts";
import { fixed, mailer, model } from "./mailer.ts";

const input = "Parcel 7, for ann@example.com";

// The tool itself runs in every schedule, so that the test sees what it does with its key. Its mail service sends nothing.
const tools = { send_email: "real" } as const;

export default defineConfig({
  pipelines: { mailer, fixed },
  crashtests: { mailer: { input, model, tools }, fixed: { input, model, tools } },
});
