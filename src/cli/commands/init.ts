import { basename, relative, resolve } from "node:path";
import { quoted } from "../../account/command-line.ts";
import type { CliContext } from "../context/cli-context.ts";
import type { Command } from "../context/command.ts";
import { cleanLine, cut, pad, paragraph } from "../context/terminal-text.ts";
import { WrongUseError } from "../context/wrong-use-error.ts";
import { detectPackageManager, type PackageManager } from "../init/package-manager.ts";
import { type ProjectFile, projectFiles } from "../init/project-files.ts";
import { type WrittenProject, writeProject } from "../init/project-folder.ts";
import { chooseProjectModel, type ProjectModel } from "../init/project-model.ts";
import { paint } from "../screen/format.ts";

export const init: Command = {
  name: "init",
  summary: "Write a small working project: an agent, a tool, a test, a job",
  arguments: [{ name: "folder", summary: "an empty or a new folder (default: this one)", isOptional: true }],
  options: [],
  example: "pawl init my-agent",
  execute: async (context, input) => {
    const name = input.optionalArgument("folder");
    if (name?.trim() === "")
      throw new WrongUseError("The name of the folder is empty: name one, or leave it out.");
    const folder = resolve(context.cwd, name ?? ".");
    const model = chooseProjectModel(context.env);
    const manager = detectPackageManager(context.env);
    const files = projectFiles(basename(folder), model, manager);
    const project = await writeProject(folder, files);
    const next = nextCommands(context, folder, manager);
    return {
      exitCode: 0,
      document: { folder, ...project, packageManager: manager.name, apiKey: model.keyName, next },
      text: [
        filesText(context, folder, files, project),
        nextText(context, next),
        paragraph(modelText(context, model), context.stdout.columns),
      ].join("\n"),
    };
  },
};

type NextCommand = { readonly command: string; readonly what: string | null };

function nextCommands({ cwd }: CliContext, folder: string, manager: PackageManager): readonly NextCommand[] {
  const path = relative(cwd, folder);
  // A leading hyphen would be an option.
  const change = `cd ${quoted(cleanLine(path.startsWith("-") ? `./${path}` : path))}`;
  return [
    ...(path === "" ? [] : [{ command: change, what: null }]),
    { command: manager.install, what: null },
    { command: manager.start, what: "the bank is slow: kill -9 the process before it answers" },
    { command: manager.start, what: "resumes: the model is not asked again, the bank has paid once" },
    { command: manager.test, what: "kills the agent at every point where a process can die" },
  ];
}

function filesText(
  context: CliContext,
  folder: string,
  files: readonly ProjectFile[],
  { written, kept }: WrittenProject,
): string {
  const { columns } = context.stdout;
  const shown = files.filter(({ name }) => written.includes(name));
  return [
    paragraph(`Wrote ${written.length} files to ${folder}:`, columns),
    ...explained(
      context,
      shown.map(({ name, purpose }) => [name, purpose]),
    ),
    ...kept.map((name) => paragraph(keptText(name), columns)),
  ].join("");
}

/** Lines with an explanation beside each word, as far as the terminal is wide enough. */
function explained(
  context: CliContext,
  lines: readonly (readonly [what: string, why: string])[],
): readonly string[] {
  const paints = paint(context);
  const columns = Math.max(...lines.filter(([, why]) => why !== "").map(([what]) => what.length));
  const room = context.stdout.columns - columns - 4;
  return lines.map(([what, why]) =>
    why === "" ? `  ${what}\n` : `  ${pad(what, columns)}  ${paints.dim(cut(why, room))}\n`,
  );
}

function keptText(name: string): string {
  if (name !== ".gitignore") return `${name} was there already, and was left as it is.`;
  return ".gitignore was there already, and was left as it is: add node_modules/ and .pawl/ to it.";
}

function nextText(context: CliContext, next: readonly NextCommand[]): string {
  const lines = next.map(({ command, what }) => [command, what === null ? "" : `# ${what}`] as const);
  return `Next:\n${explained(context, lines).join("")}`;
}

function modelText({ env }: CliContext, { keyName, expression }: ProjectModel): string {
  if ((env[keyName] ?? "") !== "")
    return `${keyName} is set, so the agent uses ${expression}. Without it, the agent follows a script.`;
  return `No API key is needed: the agent follows a script. With ${keyName} set, it uses ${expression}.`;
}
