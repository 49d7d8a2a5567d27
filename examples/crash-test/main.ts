/**
 * Kills an agent at every point where its process could die, and shows what would have happened twice; then does the same
 * with the fixed agent.
 */
import { crashExplorer } from "../../src/testing/crash/index.ts";
import { fixed, mailer, model } from "./mailer.ts";

const input = "Parcel 7, for ann@example.com";

console.log("An agent whose tool ignores its key:\n");
const failing = await crashExplorer({ pipeline: mailer, input, model, modes: ["crash"] });
console.log(String(failing));

console.log("\nThe same agent, whose tool passes its key on:\n");
const kept = await crashExplorer({ pipeline: fixed, input, model, modes: ["crash"] });
console.log(String(kept));

const isExpected = failing.violations.length > 0 && kept.violations.length === 0;
process.exitCode = isExpected ? 0 : 1;
