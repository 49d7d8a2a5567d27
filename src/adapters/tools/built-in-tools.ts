import { assertOptions } from "../../core/naming/option-names.ts";
import { askHuman } from "../../engine/definition/waiting/ask-human.ts";
import { fetchPage } from "./fetch-page.ts";
import { listFiles, readFile, searchFiles, writeFile } from "./file-tools.ts";
import { httpRequest } from "./http-request.ts";
import { notify } from "./notify.ts";
import { renderPdf } from "./render-pdf.ts";
import { type SendMailOptions, sendMail } from "./send-mail.ts";
import type { BuiltInToolName, SettingsOf } from "./settings.ts";

/** A description of a built-in tool, for people. */
export type BuiltInToolNote = {
  readonly summary: string;
  /** The settings that it requires. */
  readonly needs: readonly string[];
  /** The package that must be installed beside Pawl for it. */
  readonly package: string | null;
};

/** The built-in tools, by the names that a job file uses. */
export const BUILT_IN_TOOLS: { readonly [N in BuiltInToolName]: BuiltInToolNote } = {
  read_file: { summary: "Reads a text file of the workspace.", needs: [], package: null },
  write_file: { summary: "Writes a text file and keeps it as an artifact.", needs: [], package: null },
  list_files: { summary: "Lists the files of the workspace.", needs: [], package: null },
  search_files: { summary: "Searches the files of the workspace for a text.", needs: [], package: null },
  fetch_page: { summary: "Reads a web page as text.", needs: [], package: null },
  http_request: { summary: "Makes an HTTP request.", needs: [], package: null },
  render_pdf: { summary: "Makes a PDF from Markdown.", needs: [], package: "pdfkit" },
  ask_human: { summary: "Asks a person and waits for the answer.", needs: [], package: null },
  send_mail: { summary: "Sends a mail over SMTP.", needs: ["url", "from"], package: "nodemailer" },
  notify: { summary: "Sends a message to a webhook.", needs: ["url"], package: null },
};

/** Settings by tool name. A tool with required settings is included only if they are given. */
export type BuiltInToolsSettings = {
  readonly [N in Exclude<BuiltInToolName, "send_mail">]?: SettingsOf<N>;
} & { readonly send_mail?: SendMailOptions };

/** The built-in tools by name. */
export type BuiltInTools = ReturnType<typeof withoutSettings> & {
  readonly send_mail?: ReturnType<typeof sendMail>;
  readonly notify?: ReturnType<typeof notify>;
};

/**
 * All built-in tools; those with required settings only if these are given.
 *
 * @example
 * const { fetch_page, write_file } = builtInTools();
 */
export function builtInTools(settings: BuiltInToolsSettings = {}): BuiltInTools {
  assertOptions("The argument of builtInTools", settings, BUILT_IN_TOOLS);
  const { send_mail: mail, notify: webhook } = settings;
  return {
    ...withoutSettings(settings),
    ...(mail === undefined ? {} : { send_mail: sendMail(mail) }),
    ...(webhook === undefined ? {} : { notify: notify(webhook) }),
  };
}

function withoutSettings({ http_request: request }: BuiltInToolsSettings) {
  return {
    read_file: readFile,
    write_file: writeFile,
    list_files: listFiles,
    search_files: searchFiles,
    fetch_page: fetchPage,
    http_request: httpRequest(request),
    render_pdf: renderPdf,
    ask_human: askHuman,
  };
}
