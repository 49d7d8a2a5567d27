// Writes one checkpoint after another, and prints each once it is written, until this process is killed.
import { FileCheckpointStore } from "../../../../src/store/checkpoint/file-checkpoint-store.ts";

const [directory = "", after = "0"] = process.argv.slice(2);
const store = new FileCheckpointStore(directory);
await store.acquire();
if ((await store.loadRequest()) === null)
  await store.begin({ runId: "child", request: null, createdAt: 0, deadline: null });
for (let n = Number(after) + 1; ; n++) {
  await store.persistCheckpoint({
    snapshot: { slices: { long: String(n).repeat(20_000) } },
    cursor: { turnIndex: n },
  });
  console.log(n);
}
