import { ownDependency } from "./own-package.ts";
import type { PackageManager } from "./package-manager.ts";
import type { ProjectModel } from "./project-model.ts";
import { agentSource, BANK_SOURCE, CONFIG_SOURCE, MAIN_SOURCE, TEST_SOURCE } from "./project-sources.ts";

export type ProjectFile = { readonly name: string; readonly text: string; readonly purpose: string };

/** The newest versions that Pawl's own tests use. */
export const PROJECT_VERSIONS: Readonly<Record<string, string>> = {
  "@ai-sdk/anthropic": "^4.0.102",
  "@ai-sdk/openai": "^4.0.114",
  "@types/node": "^24.9.1",
  ai: "^7.0.166",
  typescript: "^7.0.2",
  zod: "^4.6.7",
};

/** Every file of a new project, in the order in which a reader opens them. */
export function projectFiles(
  folderName: string,
  model: ProjectModel,
  manager: PackageManager,
): readonly ProjectFile[] {
  const file = (name: string, purpose: string, text: string): ProjectFile => ({ name, purpose, text });
  return [
    file("README.md", "what to try", readme(model, manager)),
    file("agent.ts", "the agent, and a tool that costs money", agentSource(model)),
    file("bank.ts", "stands in for your payment provider", BANK_SOURCE),
    file("main.ts", "runs the agent", MAIN_SOURCE),
    file("agent.test.ts", "kills the agent at every point where a process can die", TEST_SOURCE),
    file("pawl.config.ts", "the agent, for the command line", CONFIG_SOURCE),
    file("job.yaml", "a job for it, with budgets and a goal", JOB),
    file("package.json", "its dependencies and scripts", manifestText(folderName, model)),
    file("tsconfig.json", "the type checker's options", TSCONFIG),
    file(".gitignore", "what is not for Git", "node_modules/\n.pawl/\npawl-runs/\npayments.log\n"),
  ];
}

/** A name that npm accepts, close to that of the folder. */
export function packageName(folderName: string): string {
  const name = folderName
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[._-]+|[._-]+$/g, "")
    .slice(0, 100);
  // A package that has the name of one of its dependencies cannot be installed.
  const isTaken = ["pawl", "node_modules", "favicon.ico", ...Object.keys(PROJECT_VERSIONS)].includes(name);
  return name === "" || isTaken ? "pawl-project" : name;
}

function manifestText(folderName: string, { packageName: modelPackage }: ProjectModel): string {
  const dependencies = new Set(["ai", "pawl", "zod", modelPackage]);
  const manifest = {
    name: packageName(folderName),
    private: true,
    type: "module",
    engines: { node: ">=22.18" },
    scripts: { start: "node main.ts", test: "node --test", check: "tsc" },
    dependencies: versionsOf([...dependencies]),
    devDependencies: versionsOf(["@types/node", "typescript"]),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function versionsOf(names: readonly string[]): { readonly [name: string]: string } {
  return Object.fromEntries(names.toSorted().map((name) => [name, versionOf(name)]));
}

function versionOf(name: string): string {
  const version = name === "pawl" ? ownDependency() : PROJECT_VERSIONS[name];
  if (version === undefined) throw new Error(`No version of ${name} is known.`);
  return version;
}

const JOB = `# pawl run job.yaml checks this contract, stores it with the run, and enforces it through every restart.
objective: Refund order B-4
pipeline: clerk
input: The lamp of order B-4 never arrived. It cost 40 euros.
budgets: { max_tool_calls: 10, max_tokens: 20000, max_wallclock_minutes: 10 }
stop_conditions: [refunded_once]
`;

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noUncheckedIndexedAccess": true,
    "noEmit": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true
  }
}
`;

function readme({ keyName, expression }: ProjectModel, manager: PackageManager): string {
  const { install, start, test, execute } = manager;
  const commands = [
    [install, "once"],
    [start, "the bank is slow: kill the process before it answers"],
    [start, "resumes: the model is not asked again, and the bank has paid once"],
    [test, "kills the agent at every point where a process can die"],
    [`${execute} pawl show order-A-17`, "what happened"],
    [`${execute} pawl run job.yaml`, "the same agent as a job, with budgets and a goal"],
  ] as const;
  const columns = Math.max(...commands.map(([command]) => command.length));
  return `# An agent that survives kill -9

\`\`\`sh
${commands.map(([command, what]) => `${command.padEnd(columns)}  # ${what}`).join("\n")}
\`\`\`

The agent follows a script until ${keyName} is set. Then it uses \`${expression}\` (see \`agent.ts\`).
Runs are stored in \`.pawl/pawl.db\`, and the bank's payments in \`payments.log\`. Delete both to start over.

Next: put your own tool in \`agent.ts\`, and declare what may be done when a crash leaves its outcome unknown:
\`recovery: "keyed"\`, \`"reconcile"\`, \`"repeat"\`, or nothing, and a person is asked. The guides are in
\`node_modules/pawl/docs\`; start with \`quickstart.md\`.
`;
}
