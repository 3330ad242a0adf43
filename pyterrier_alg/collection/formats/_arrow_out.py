"""Record batches of a collection's matrix and columns."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from pyterrier_alg.algebra.kinds import Kind
from pyterrier_alg.collection.formats._arrow_in import SPACE_KEY
from pyterrier_alg.collection.formats._reading import BATCH
from pyterrier_alg.collection.formats._writing import DOCNO, VECTOR, Columnar, Picked, Written, written
from pyterrier_alg.collection.operands import ColumnOperand, MaskOperand
from pyterrier_alg.collection.parts import canonical, space_to_dict

if TYPE_CHECKING:
    import pyarrow as pa


def schema_of(picked: Picked) -> pa.Schema:
    """`docno`, `doc_vec` where there is a matrix, the columns; the space stands in the metadata."""
    import pyarrow as pa

    fields = [pa.field(DOCNO, pa.string(), nullable=False)]
    metadata = {}
    if picked.matrix is not None:
        element = pa.from_numpy_dtype(picked.matrix.rows.dtype)
        fields.append(pa.field(VECTOR, pa.list_(element, picked.matrix.space.dimensions)))
        metadata[SPACE_KEY] = canonical(space_to_dict(picked.matrix.space))
    fields += [pa.field(name, _type(operand)) for name, operand in picked.columns.items()]
    return pa.schema(fields, metadata=metadata)


def record_batches(picked: Picked, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All records, some at a time, in the order in which the collection got them."""
    import pyarrow as pa

    for block in written(picked, BATCH):
        arrays = [pa.array(block.docnos, pa.string())]
        if picked.matrix is not None:
            arrays.append(_vectors(block, schema.field(VECTOR).type))
        for name, values in block.columns.items():
            kind = schema.field(name).type
            days = pa.types.is_date(kind)
            found = [day if day is None else date.fromisoformat(day) for day in values] if days else values
            arrays.append(pa.array(found, kind))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _type(operand: Columnar) -> pa.DataType:
    import pyarrow as pa

    if isinstance(operand, MaskOperand):
        return pa.bool_()
    if not isinstance(operand, ColumnOperand):
        return pa.float64()
    return pa.date32() if operand.kind is Kind.DATE_COLUMN else pa.string()


def _vectors(block: Written, kind: Any) -> pa.Array:
    import pyarrow as pa

    rows = np.zeros((len(block.docnos), kind.list_size), dtype=block.rows.dtype)
    rows[block.present] = block.rows
    absent = None if block.present.all() else pa.array(~block.present)
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), type=kind, mask=absent)
