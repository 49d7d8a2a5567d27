export { askHuman } from "../../engine/definition/waiting/ask-human.ts";
export {
  BUILT_IN_TOOLS,
  type BuiltInToolNote,
  type BuiltInTools,
  type BuiltInToolsSettings,
  builtInTools,
} from "./built-in-tools.ts";
export { type FetchedPage, fetchPage } from "./fetch-page.ts";
export { listFiles, readFile, searchFiles, writeFile } from "./file-tools.ts";
export { type HttpAnswer, httpRequest } from "./http-request.ts";
export { notify } from "./notify.ts";
export { renderPdf } from "./render-pdf.ts";
export { type FindSent, type SendMailOptions, type SentMail, sendMail } from "./send-mail.ts";
export { type BuiltInToolName, builtInToolSettings, type SettingsOf } from "./settings.ts";
