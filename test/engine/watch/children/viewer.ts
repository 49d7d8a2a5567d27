// Reads one event of a run and leaves. The process must end by itself: neither the store nor the watch may keep it.

import { openStore, watchRun } from "../../../../src/index.ts";

const store = await openStore(`file:${process.argv[2] ?? ""}`, { readOnly: true });
for await (const event of watchRun(store, "q-1")) {
  console.log(event.type);
  break;
}
console.log("left");
