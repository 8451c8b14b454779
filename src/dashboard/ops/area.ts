import type { Area } from '../frame/area.ts'

/** The area of operators. */
export const OPS: Area = {
  path: '/ops',
  kind: 'operator',
  cookiePrefix: 'cowry_ops',
  menu: [
    { path: '/ops', text: 'opsStateTitle', needs: ['jobs.get'], key: 'h' },
    { path: '/ops/merchants', text: 'opsMerchants', needs: ['merchants.list'], key: 'm' },
  ],
}
