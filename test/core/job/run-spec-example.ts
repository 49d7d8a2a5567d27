/** The example of section 6 of the requirements, verbatim. */
export const seedExample = {
  objective: "Create a research report from N URLs and email it to X",
  constraints: {
    must_cite_sources: true,
    no_duplicate_external_actions: true,
    allowed_domains: [],
    forbidden_actions: [],
  },
  budgets: {
    max_wallclock_minutes: 90,
    max_steps: 50,
    max_tool_calls: 250,
    max_retries_per_tool_call: 5,
    max_same_error_repeats: 3,
  },
  stop_conditions: ["report_pdf_created", "email_sent_once", "final_notification_sent"],
  escalation: {
    ask_human_on_ambiguous_recipient: true,
    ask_human_on_auth_failure: true,
    ask_human_on_repeated_failures: true,
  },
  artifacts: {
    workspace_dir: "AGENT_RUN_WORKSPACES/session_<id>/",
    expected_outputs: ["report.html", "report.pdf", "transcript.md"],
  },
};
