import type { Db } from '../kit/db/db.ts'
import type { Job } from '../kit/jobs.ts'
import { purgeTokens } from './queries.ts'

export function gatewayTokenJobs(app: { instanceDb: Db }): Job[] {
  return [{ name: 'purge-gateway-tokens', intervalMs: 600_000, run: () => purgeTokens(app.instanceDb) }]
}
