/** The one tenant of the double: that of the tokens which shared tools hand out. */
export const TENANT = '00000000-0000-0000-0000-0000000000aa';

/** Object id of whoever is logged in: the same tools' tokens have it. */
export const DEPLOYER = '00000000-0000-0000-0000-0000000000bb';

/** What it logs in by: the id of its application. */
export const APP_ID = '11111111-1111-1111-1111-111111111111';
