/**
 * The same from the command line. From this folder, after a clone:
 *
 *     node ../../src/cli/main.ts crashtest mailer
 *     node ../../src/cli/main.ts crashtest mended
 */
import { defineConfig } from "../../src/index.ts";
import { mailer, mended, model } from "./mailer.ts";

const input = "Parcel 7, for ann@example.com";

// The tool itself runs in every schedule, so that what it does with its key is seen. Its mail service sends nothing.
const tools = { send_email: "real" } as const;

export default defineConfig({
  pipelines: { mailer, mended },
  crashtests: { mailer: { input, model, tools }, mended: { input, model, tools } },
});
