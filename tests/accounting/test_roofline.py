"""The roofline by level, and the traffic of a tiled matrix product, against a cache that is simulated load by load."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import hardware, roofline

# 1e12 FLOP/s and three memories with round numbers
DEVICE = hardware.Device(
    id="by-hand",
    name="Made for the test",
    kind="gpu",
    peaks={"fp32": 1e12},
    memory_bandwidth=1e9,
    memory_capacity=10**10,
    levels={"shared": hardware.Level(10**6, 1e11), "infinity-cache": hardware.Level(10**8, 1e10)},
)


def by_level(flops, **nbytes):
    crossing = {name.replace("_", "-"): value for name, value in nbytes.items()}
    return roofline.place_by_level(flops=flops, bytes=crossing, device=DEVICE, dtype="fp32")


@pytest.mark.parametrize(
    ("flops", "nbytes", "bound", "seconds"),
    [
        (10**12, {"shared": 10**10, "infinity_cache": 10**9, "memory": 10**8}, "compute", 1.0),  # others 0.1 s
        (10**10, {"shared": 10**10, "infinity_cache": 5 * 10**8, "memory": 10**7}, "shared", 0.1),
        (10**10, {"shared": 10**9, "infinity_cache": 2 * 10**9, "memory": 10**7}, "infinity-cache", 0.2),
        (10**10, {"shared": 10**9, "infinity_cache": 10**9, "memory": 3 * 10**8}, "memory", 0.3),
        (0, {"memory": 10**9}, "memory", 1.0),
        (10**12, {"memory": 10**9}, "compute", 1.0),  # equal times: compute, as `place` says at the ridge
    ],
)
def test_the_slowest_level_bounds(flops, nbytes, bound, seconds):
    result = by_level(flops, **nbytes)
    assert (result.bound, result.seconds) == (bound, pytest.approx(seconds))
    assert max(result.times.values()) == result.seconds


def test_intensity_and_time_of_each_level():
    result = by_level(10**9, shared=10**9, infinity_cache=10**8, memory=10**7)
    assert result.intensities == {"shared": 1, "infinity-cache": 10, "memory": 100}
    assert result.times == pytest.approx({"compute": 1e-3, "shared": 1e-2, "infinity-cache": 1e-2, "memory": 1e-2})


@given(flops=st.integers(0, 10**15), nbytes=st.integers(1, 10**13))
def test_main_memory_alone_is_the_plain_roofline(flops, nbytes):
    ours = by_level(flops, memory=nbytes)
    plain = roofline.place(flops=flops, bytes=nbytes, device=DEVICE, dtype="fp32")
    assert (ours.seconds, ours.bound, ours.intensities["memory"]) == (plain.seconds, plain.bound, plain.intensity)


def test_the_derivation_names_every_level_and_evaluates_to_the_time():
    result = by_level(10**9, infinity_cache=2 * 10**8, memory=3 * 10**7)
    line = result.explain().splitlines()[0]
    assert line.startswith("seconds = max(F/P, M_infinity_cache/W_infinity_cache, M_memory/W_memory) = ")
    assert eval(line.split(" = ")[2], {"max": max}) == pytest.approx(result.seconds)
    assert "bytes that cross infinity-cache" in result.explain()
    assert "30.0 ms at 33.3 FLOP/B" in repr(result)
    assert hash(result) == hash(replace(result))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bytes": {"l3": 10}}, ["l3", "by-hand", "shared", "infinity-cache"]),
        ({"bytes": {}}, ["bytes={}", "memory levels"]),
        ({"bytes": 10**9}, ["bytes=1000000000", "`place` takes one number"]),
        ({"bytes": {"memory": 0}}, ["bytes['memory']=0", "at least 1"]),
        ({"bytes": {"memory": 1.5}}, ["bytes['memory']=1.5", "whole number"]),
        ({"flops": -1}, ["flops=-1"]),
        ({"dtype": "bf16"}, ["dtype='bf16'", "fp32"]),
    ],
)
def test_bad_input(changes, says, refuses):
    refuses(
        lambda: roofline.place_by_level(
            **{"flops": 1, "bytes": {"memory": 1}, "device": DEVICE, "dtype": "fp32", **changes}
        ),
        says,
    )


# ---------------------------------------------------------------- tiles


def loads_and_stores(m, k, n, tile_m, tile_n):
    """(loads of the left operand, of the right one, stores) of a blocked matrix product, counted one by one.

    The fast level holds one tile of the result and, for each step along k, one column piece and one row piece.
    """
    left = [[(i + 2 * p) % 5 for p in range(k)] for i in range(m)]
    right = [[(3 * p + j) % 7 for j in range(n)] for p in range(k)]
    result, counts = [[None] * n for _ in range(m)], [0, 0, 0]
    for top in range(0, m, tile_m):
        for start in range(0, n, tile_n):
            rows, columns = range(top, min(top + tile_m, m)), range(start, min(start + tile_n, n))
            tile = {(i, j): 0 for i in rows for j in columns}
            for p in range(k):
                column = {i: left[i][p] for i in rows}
                row = {j: right[p][j] for j in columns}
                counts[0] += len(column)
                counts[1] += len(row)
                for i, j in tile:
                    tile[i, j] += column[i] * row[j]
            for (i, j), value in tile.items():
                result[i][j] = value
                counts[2] += 1
    assert result == [[sum(left[i][p] * right[p][j] for p in range(k)) for j in range(n)] for i in range(m)]
    return counts


@pytest.mark.parametrize(
    ("m", "k", "n", "tile_m", "tile_n"),
    [(8, 8, 8, 4, 2), (7, 3, 5, 2, 2), (7, 3, 5, 1, 1), (7, 3, 5, 7, 5), (7, 3, 5, 100, 3), (1, 9, 6, 1, 4)],
)
def test_tiled_traffic_is_what_the_loops_load(m, k, n, tile_m, tile_n):
    traffic = roofline.tiled_matmul_bytes(m, k, n, tile_m=tile_m, tile_n=tile_n, dtype="bf16")
    left, right, result = loads_and_stores(m, k, n, tile_m, tile_n)
    assert dict(traffic.parts) == {"left": 2 * left, "right": 2 * right, "result": 2 * result}


@given(*[st.integers(1, 5000)] * 5)
def test_larger_tiles_never_move_more_and_whole_ones_move_what_must_move(m, k, n, tile_m, tile_n):
    traffic = int(roofline.tiled_matmul_bytes(m, k, n, tile_m=tile_m, tile_n=tile_n))
    larger = int(roofline.tiled_matmul_bytes(m, k, n, tile_m=2 * tile_m, tile_n=2 * tile_n))
    whole = int(roofline.tiled_matmul_bytes(m, k, n, tile_m=m, tile_n=n))
    assert traffic >= larger >= whole == roofline.matmul(m, k, n).bytes


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"tile_m": 0}, "tile_m=0"), ({"tile_n": 2.5}, "tile_n=2.5"), ({"dtype": "bf61"}, "dtype='bf61'")],
)
def test_bad_tiles(changes, says):
    with pytest.raises(ValueError, match=says):
        roofline.tiled_matmul_bytes(8, 8, 8, **{"tile_m": 4, "tile_n": 4, **changes})


def test_fused_calls_move_what_their_tensors_say():
    """SiLU(x)·y as three calls, counted tensor by tensor: 2 + 3 + 3; fused: x, y and the result."""
    S = 4 * 1000
    three = [roofline.elementwise(1000), roofline.elementwise(1000, reads=2), roofline.elementwise(1000, reads=2)]
    fused = roofline.fuse(three, intermediates=[S, S], reread=S)
    assert (sum(op.bytes for op in three), fused.bytes, fused.flops, fused.calls) == (8 * S, 3 * S, 3000, 1)
    for wrong, message in (
        ({"ops": []}, "list of roofline.Op"),
        ({"ops": three, "intermediates": [S] * 4}, "leaves nothing"),
        ({"ops": [three[0], roofline.elementwise(9, dtype="bf16")]}, "one dtype"),
        ({"ops": three, "intermediates": S}, "list of sizes"),
        ({"ops": three, "intermediates": None}, "list of sizes"),
        ({"ops": three, "intermediates": "4000"}, "list of sizes"),
    ):
        with pytest.raises(ValueError, match=message):
            roofline.fuse(**wrong)


def test_the_limit_of_recomputing():
    assert roofline.recompute_limit("a100-40-sxm", "fp32") == pytest.approx(8 * 19.5e12 / 1.555e12)
