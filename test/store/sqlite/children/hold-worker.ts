// Takes a worker and holds it until this process is killed, or asked to end.
import { once } from "node:events";
import { FileCheckpointStore } from "../../../../src/store/checkpoint/file-checkpoint-store.ts";

const [directory = ""] = process.argv.slice(2);
const store = new FileCheckpointStore(directory);
const release = await store.acquire();
await store.begin({ runId: "child", request: null, createdAt: 0, deadline: null });
console.log("held");
await once(process.stdin, "data");
await release();
console.log("given back");
process.exit(0);
