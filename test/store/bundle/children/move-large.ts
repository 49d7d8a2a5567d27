// A process with little memory that moves a large run from one file to another, and prints the most memory that it had.

import { exportBundle, importBundle, openStore } from "../../../../src/index.ts";

const [from = "", to = "", file = ""] = process.argv.slice(2);
const [source, target] = [await openStore(from), await openStore(to)];
const { blobs, bytes } = await exportBundle(source, "large", { file, to: await target.storeId() });
const { run } = await importBundle(target, file);
await Promise.all([source.close(), target.close()]);
const { maxRSS } = process.resourceUsage();
process.stdout.write(JSON.stringify({ status: run.status, blobs, bytes, maxMegabytes: maxRSS / 1024 }));
