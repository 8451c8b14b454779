import { Type } from 'typebox'
import { CASE_KIND_NAMES } from '../../cases/case-kinds.ts'
import { Enum } from '../../kit/http/schema.ts'
import { type Envelope, requireSuccess } from '../api.ts'
import { readTool } from '../tool.ts'
import { separateNames, untrusted } from '../untrusted.ts'
import { counted, RecordUuid } from './fields.ts'

/** The fields that tools use; src/cases/schema.ts describes the record. */
export interface CaseRecord {
  uuid: string
  kind: string
  meaning: string
  owner: string
  state: string
  paymentUuid: string
  paymentReference: string
  paymentStatus: string
  amount: string
  currency: string
  amountReceived: string | null
  receivedCurrency: string | null
  paymentGateway: string
  providerMessage: string | null
  resolutions: string[]
  resolution: string | null
  note: string | null
  openedAt: string
  resolvedAt: string | null
}

export const CASES_PATH = '/api/v1/cases'

export const listCases = readTool({
  name: 'list_cases',
  title: 'List cases',
  description:
    'The cases in which a payment or refund cannot end by itself and a person must decide, with the possible resolutions. resolve_case resolves one.',
  scopes: ['cases:read'],
  input: {
    state: Type.Optional(Enum(['open', 'resolved', 'all'], { description: 'open if absent.' })),
    kind: Type.Optional(Enum(CASE_KIND_NAMES, { description: 'Only cases of this kind.' })),
    payment: Type.Optional(RecordUuid('Only the cases of this payment.')),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 25, description: '10 if absent.' })),
  },
  async run({ call, publicUrl }, { limit = 10, ...query }) {
    const { data, meta }: Envelope<CaseRecord[]> = await requireSuccess(call, {
      method: 'GET',
      path: CASES_PATH,
      query: { ...query, limit },
    })
    const cases = data.map((one) => summarizeCase(publicUrl, one))
    const kinds = [...Map.groupBy(data, ({ kind }) => kind)].map(([kind, { length }]) => `${length} ${kind}`)
    return {
      headline: `${counted(meta.total, 'case')}${kinds.length > 0 ? `: ${kinds.join(', ')}` : ''}.`,
      data: { cases, total: meta.total },
    }
  },
})

export function summarizeCase(publicUrl: string, one: CaseRecord) {
  const { own, others } = separateNames({ paymentReference: one.paymentReference })
  return {
    ...{ uuid: one.uuid, kind: one.kind, meaning: one.meaning, state: one.state, owner: one.owner },
    ...{ paymentUuid: one.paymentUuid, paymentStatus: one.paymentStatus },
    ...own,
    amount: `${one.currency} ${one.amount}`,
    amountReceived:
      one.amountReceived === null ? undefined : `${one.receivedCurrency ?? ''} ${one.amountReceived}`.trim(),
    paymentGateway: one.paymentGateway,
    resolutions: one.resolutions,
    resolution: one.resolution ?? undefined,
    openedAt: one.openedAt,
    resolvedAt: one.resolvedAt ?? undefined,
    ...untrusted({ ...others, providerMessage: one.providerMessage, note: one.note }),
    api: `${publicUrl}${CASES_PATH}/${one.uuid}`,
  }
}
