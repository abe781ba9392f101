import { compatibilityCases } from './compatibility-cases.ts';

compatibilityCases('embedded');
