// Takes the write lock of the database, as a long transaction of another program would, and releases it.
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";

const [file = "", holdMs] = process.argv.slice(2);
const connection = new DatabaseSync(file);
connection.exec("BEGIN IMMEDIATE");
console.log("locked");
await sleep(Number(holdMs));
connection.exec("COMMIT");
console.log("free");
