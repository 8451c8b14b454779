// Every tool, in the order in which agents and the guide see them: those that read, then those that write.

import type { Tool } from './tool.ts'
import { cancelPayment } from './tools/cancel-payment.ts'
import { explainError } from './tools/explain-error.ts'
import { explainPayment } from './tools/explain-payment.ts'
import { explainWebhooks } from './tools/explain-webhooks.ts'
import { findPayments } from './tools/find-payments.ts'
import { listCases } from './tools/list-cases.ts'
import { listEvents } from './tools/list-events.ts'
import { recentFailures } from './tools/recent-failures.ts'
import { refundPayment } from './tools/refund-payment.ts'
import { replayEvent, replayEvents } from './tools/replay-events.ts'
import { resolveCase } from './tools/resolve-case.ts'
import { walletBalance } from './tools/wallet-balance.ts'
import { whyPending } from './tools/why-pending.ts'

export const TOOLS: readonly Tool[] = [
  findPayments,
  explainPayment,
  whyPending,
  recentFailures,
  walletBalance,
  listEvents,
  explainWebhooks,
  listCases,
  explainError,
  refundPayment,
  cancelPayment,
  replayEvent,
  replayEvents,
  resolveCase,
]
