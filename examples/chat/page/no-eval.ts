// The AI SDK checks what it receives with zod, which tries `eval` when it is loaded. The content security policy of the server
// refuses that, and browsers print an error. So this is imported before everything else.
import { config } from "zod";

config({ jitless: true });
