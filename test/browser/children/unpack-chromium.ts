// Unpacks the Chromium of the npm package into TMPDIR, where the package insists on putting it.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import chromium, { inflate } from "@sparticuz/chromium";

await chromium.executablePath();
// The libraries that a desktop has and a container has not, such as libnss3.
const packed = fileURLToPath(new URL("../bin", import.meta.resolve("@sparticuz/chromium")));
await inflate(join(packed, "al2023.tar.br"));
