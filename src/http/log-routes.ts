// GET /admin/v1/logs: the last lines of the log of the process that answers. Behind a balancer every process has its own.

import { Type } from 'typebox'
import { LINE_LEVELS, type LogLine, type RecentLines } from '../kit/recent-lines.ts'
import { type OperatorRoute, ok, operatorRoute } from '../kit/route.ts'
import { Metadata, Timestamp, Uuid, UuidInput, Words } from '../kit/schema.ts'
import type { HttpShellOptions } from './options.ts'

export const LOGS_PATH = '/admin/v1/logs'

const MOST_LINES = 500

const LogsQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0 })),
  level: Type.Optional(Words(LINE_LEVELS, { default: 'debug' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MOST_LINES, default: 100 })),
  merchant: Type.Optional(UuidInput),
  requestId: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
})

const LogsAnswer = Type.Object({
  /** Another one after a restart, when the sequences begin anew. */
  process: Uuid,
  /** What is remembered at all. */
  oldest: Type.Integer(),
  latest: Type.Integer(),
  lines: Type.Array(
    Type.Object({
      sequence: Type.Integer(),
      at: Timestamp,
      level: Words(LINE_LEVELS),
      message: Type.String(),
      fields: Metadata,
    }),
  ),
})

export function logRoutes({ recentLines, random }: HttpShellOptions): OperatorRoute[] {
  return recentLines ? [logRoute(recentLines, random.uuid())] : []
}

const logRoute = (recent: RecentLines, process: string): OperatorRoute =>
  operatorRoute({
    method: 'GET',
    path: LOGS_PATH,
    summary: 'Read the last lines of the log of the process that answers',
    query: LogsQuery,
    answer: { http: 200, data: LogsAnswer },
    refusals: [],
    handle: async ({ query }) => {
      const { after, level = 'debug', limit = 100, merchant, requestId } = query
      const found = recent.read({ after, level, limit, merchantId: merchant, requestId })
      // Whoever watches the log would otherwise watch itself.
      const lines = found.filter(({ fields }) => fields.route !== LOGS_PATH).map(showLine)
      return ok('Lines of the log.', { process, ...recent.extent(), lines })
    },
  })

const showLine = ({ at, ...line }: LogLine) => ({ ...line, at: at.toISOString() })
