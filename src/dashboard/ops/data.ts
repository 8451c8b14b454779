import type { OperationCall, OperationId } from '../../kit/http/route.ts'
import type { AreaRequest } from '../frame/screen.ts'

/** The data of an operation. The caller names the type of its schema. */
export async function dataOf<Data>(
  { call }: Pick<AreaRequest, 'call'>,
  operationId: OperationId,
  input?: OperationCall,
): Promise<Data> {
  // A boundary: the operation returns records of its schema.
  return (await call(operationId, input)).data as Data
}
