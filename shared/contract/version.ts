/** The version of Nodewright, as package.json has it (a test compares them); shown in metrics. */
export const version = '0.1.0';
