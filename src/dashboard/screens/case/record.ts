import type { Static } from 'typebox'
import type { OperatorCaseRecord } from '../../../case-resolutions/schema.ts'
import type { CaseRecord } from '../../../cases/schema.ts'

/** Only operators see whose case it is. */
export type Case = Static<typeof CaseRecord> &
  Partial<
    Pick<Static<typeof OperatorCaseRecord>, 'merchantUuid' | 'merchantName' | 'customer' | 'isOwnProposal'>
  >
