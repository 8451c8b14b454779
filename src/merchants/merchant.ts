// A merchant as it is stored. Its settings are a free-form document: settings.ts reads it.

import { column, columnTable, type RowOf } from '../kit/db/columns.ts'

export const MERCHANT = columnTable({
  id: column<string>('uuid'),
  name: column<string>('text'),
  mode: column<'test' | 'live'>('text'),
  baseCurrency: column<string>('text'),
  status: column<'active' | 'suspended'>('text'),
  settings: column<Record<string, unknown>>('jsonb'),
  createdAt: column<Date>('timestamptz'),
  updatedAt: column<Date>('timestamptz'),
})

export type MerchantRow = RowOf<typeof MERCHANT>
