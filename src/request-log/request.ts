import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const REQUEST = columnTable({
  id: column<string>('uuid'),
  merchantId: column<string>('uuid'),
  keyId: column<string>('text'),
  requestId: column<string>('text'),
  method: column<string>('text'),
  route: column<string>('text'),
  http: column<number>('integer'),
  errorCode: column<string | null>('text'),
  errorFields: column<string | null>('text'),
  reference: column<string | null>('text'),
  durationMs: column<number>('integer'),
  createdAt: column<Date>('timestamptz'),
})

export type RequestRow = RowOf<typeof REQUEST>

/** A request with an API key, as the HTTP shell reports it. */
export type CompletedApiRequest = Omit<RequestRow, 'id'>

/** Most requests of a busy merchant are not kept, and `describe` is not called for them. */
export type RecordRequest = (merchantId: string, http: number, describe: () => CompletedApiRequest) => void

/** As the dashboard gets it. */
export type RequestRecord = Omit<RequestRow, 'merchantId' | 'createdAt'> & { createdAt: string }
