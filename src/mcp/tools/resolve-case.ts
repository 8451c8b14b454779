import { Type } from 'typebox'
import { RESOLUTIONS } from '../../cases/case-kinds.ts'
import { ResolutionName } from '../../cases/schema.ts'
import { type Envelope, requireSuccess, ToolError } from '../api.ts'
import { nameOf } from '../payment.ts'
import { writeTool } from '../tool.ts'
import { RecordUuid } from './fields.ts'
import { CASES_PATH, type CaseRecord, summarizeCase } from './list-cases.ts'

export const resolveCase = writeTool({
  name: 'resolve_case',
  title: 'Resolve a case',
  description:
    'Decides a case that waits for the merchant: what happens with a payment of another amount, or with a refund that failed. list_cases shows which resolutions are possible. Where the merchant requires two people, this proposes the resolution, and the key of another person approves it.',
  scopes: ['cases:write'],
  isDestructive: true,
  input: {
    case: RecordUuid('The uuid of the case.'),
    resolution: ResolutionName,
    note: Type.String({ minLength: 1, maxLength: 500, description: 'Why; kept with the case.' }),
    proof: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: 'The provider’s own reference, where the resolution relies on its records.',
      }),
    ),
  },
  async prepare({ call, publicUrl }, input) {
    const path = `${CASES_PATH}/${input.case}`
    const { data }: Envelope<CaseRecord> = await requireSuccess(call, { method: 'GET', path })
    if (!data.resolutions.includes(input.resolution))
      throw new ToolError('resolution_not_possible', notPossible(data))
    return {
      summary: `The case ${data.kind} (${data.meaning}) of ${nameOf(paymentOf(data))} would be resolved as ${input.resolution}: ${RESOLUTIONS[input.resolution]}`,
      arguments: input,
      facts: { case: summarizeCase(publicUrl, data) },
    }
  },
  request: ({ case: uuid, resolution, note, proof }) => ({
    method: 'POST',
    path: `${CASES_PATH}/${uuid}/resolve`,
    body: { resolution, note, proof },
  }),
  describe: ({ publicUrl }, { message, data }) => ({
    headline: message,
    // A boundary: the route returns a case.
    data: { state: 'done', case: summarizeCase(publicUrl, data as unknown as CaseRecord) },
  }),
})

const paymentOf = ({ paymentUuid, paymentReference }: CaseRecord) => ({
  uuid: paymentUuid,
  reference: paymentReference,
})

function notPossible({ resolutions, owner, state }: CaseRecord): string {
  if (resolutions.length > 0) return `Possible resolutions are ${resolutions.join(', ')}.`
  return state === 'resolved' ? 'The case is resolved already.' : `The ${owner} decides this case.`
}
