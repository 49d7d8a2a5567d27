export const reportHandlers = () => ({});
