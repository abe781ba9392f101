import { compatibilityCases } from './compatibility-cases.ts';
import { leaderCases } from './leader-cases.ts';

compatibilityCases('embedded');
leaderCases('embedded');
